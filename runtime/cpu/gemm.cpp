#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"
#include "runtime/cpu/sgemm.hpp"

namespace stepcast::runtime {

void CpuKernels::gemm(Stream& stream, const GemmCall& g) {
  cpu(stream).enqueue([g] {
    const std::int64_t lda = g.lda > 0 ? g.lda : (g.a_transposed ? g.m : g.k);
    const std::int64_t ldb = g.ldb > 0 ? g.ldb : (g.b_transposed ? g.k : g.n);
    const std::int64_t ldc = g.ldc > 0 ? g.ldc : g.n;
    for (std::int64_t member = 0; member < g.batch; ++member) {
      float* c = f32(g.c) + member * g.stride_c;
      sgemm(g.a_transposed, g.b_transposed, g.m, g.n, g.k, 1.0f, f32(g.a) + member * g.stride_a,
            lda, f32(g.b) + member * g.stride_b, ldb, g.accumulates ? 1.0f : 0.0f, c, ldc);
      if (!g.bias) continue;
      const float* bias = f32(g.bias);
      for (std::int64_t row = 0; row < g.m; ++row)
        for (std::int64_t column = 0; column < g.n; ++column) c[row * ldc + column] += bias[column];
    }
  });
}
}  // namespace stepcast::runtime
