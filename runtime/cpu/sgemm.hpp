#pragma once
#include <cstdint>
#include <string>

namespace stepcast::runtime {
/// c (m, n) = alpha op(a) op(b) + beta c, row-major, on the calling thread only.
/// sgemm_onednn.cpp or, without that library, sgemm_plain.cpp; CMake picks one.
void sgemm(bool a_transposed, bool b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
           float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
           float beta, float* c, std::int64_t ldc);
/// "oneDNN 2.6.3" or what stands in for it.
std::string sgemm_library();
bool has_onednn();
/// Keeps the library from spreading this thread's work over other cores: a cpu rank is one core.
void compute_on_this_core_only();
}  // namespace stepcast::runtime
