#include <algorithm>
#include <vector>

#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/sgemm.hpp"

/// Where oneDNN is not built in: blocked, with b packed in rows so that the inner loop runs along
/// n. About a third of oneDNN's rate; the profile says which one measured.
namespace stepcast::runtime {
namespace {
constexpr std::int64_t kRows = 64, kDepth = 256,
                       kColumns = 512;  // a block of b is 512 KiB: half of a usual L2

STEPCAST_CLONES
void add_block(std::int64_t rows, std::int64_t columns, std::int64_t depth, const float* a,
               const float* b, float* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < rows; ++i) {
    float* out = c + i * ldc;
    for (std::int64_t p = 0; p < depth; ++p) {
      const float factor = a[i * depth + p];
      const float* row = b + p * columns;
      for (std::int64_t j = 0; j < columns; ++j) out[j] += factor * row[j];
    }
  }
}
}  // namespace

void sgemm(bool a_transposed, bool b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
           float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
           float beta, float* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? 0.0f : beta * c[i * ldc + j];
  std::vector<float> packed_a(kRows * kDepth), packed_b(kDepth * kColumns);
  for (std::int64_t j0 = 0; j0 < n; j0 += kColumns)
    for (std::int64_t p0 = 0; p0 < k; p0 += kDepth) {
      const std::int64_t columns = std::min(kColumns, n - j0), depth = std::min(kDepth, k - p0);
      for (std::int64_t p = 0; p < depth; ++p)
        for (std::int64_t j = 0; j < columns; ++j)
          packed_b[static_cast<std::size_t>(p * columns + j)] =
              b_transposed ? b[(j0 + j) * ldb + p0 + p] : b[(p0 + p) * ldb + j0 + j];
      for (std::int64_t i0 = 0; i0 < m; i0 += kRows) {
        const std::int64_t rows = std::min(kRows, m - i0);
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t p = 0; p < depth; ++p)
            packed_a[static_cast<std::size_t>(i * depth + p)] =
                alpha * (a_transposed ? a[(p0 + p) * lda + i0 + i] : a[(i0 + i) * lda + p0 + p]);
        add_block(rows, columns, depth, packed_a.data(), packed_b.data(), c + i0 * ldc + j0, ldc);
      }
    }
}
std::string sgemm_library() { return "own blocked product (oneDNN not built in)"; }
bool has_onednn() { return false; }
void compute_on_this_core_only() {}
}  // namespace stepcast::runtime
