#include <dnnl.h>
#include <fmt/format.h>
#include <omp.h>

#include "runtime/cpu/sgemm.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {

void sgemm(bool a_transposed, bool b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
           float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
           float beta, float* c, std::int64_t ldc) {
  const dnnl_status_t status = dnnl_sgemm(a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N', m, n,
                                          k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (status != dnnl_success)
    throw EnvironmentError(fmt::format("oneDNN refused a product of {} x {} x {} (status {})", m, n,
                                       k, static_cast<int>(status)));
}
std::string sgemm_library() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}
bool has_onednn() { return true; }
void compute_on_this_core_only() { omp_set_num_threads(1); }
}  // namespace stepcast::runtime
