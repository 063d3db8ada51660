#include "sim/cost/roofline.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("a GEMM counts 2mnk flops and each operand once", "[cost]") {
  const KernelAmounts a = gemm_amounts({10, 20, 30, 2, false}, Precision::bf16);
  REQUIRE(a.flops.value == 2.0 * 10 * 20 * 30 * 2);
  // 2 members * 2 bytes * (10*30 + 30*20 + 10*20)
  REQUIRE(a.bytes.value == 2 * 2 * (300 + 600 + 200));
  // fp8 operands, 16-bit result: 1 * (300 + 600) + 2 * 200
  REQUIRE(gemm_amounts({10, 20, 30, 1, false}, Precision::fp8).bytes.value == 900 + 400);
}

TEST_CASE("a causal mask keeps the lower triangle with its diagonal", "[cost]") {
  AttentionShape s{1, 1, 1, 4, 4, 8, 8, true, false};
  REQUIRE(attention_pairs(s) == 10);  // 1 + 2 + 3 + 4
  s.key_length = 6;                   // the four queries are the last of six: 3 + 4 + 5 + 6
  REQUIRE(attention_pairs(s) == 18);
  s.causal = false;
  REQUIRE(attention_pairs(s) == 24);
}

TEST_CASE("attention backward has two and a half times the flops of the forward", "[cost]") {
  AttentionShape s{2, 16, 4, 128, 128, 64, 64, true, false};
  const double forward = attention_amounts(s, Precision::bf16).flops.value;
  // 2 products * 2 flops * pairs * 64 * heads * batch
  REQUIRE(forward == 4.0 * 64 * (128.0 * 129 / 2) * 16 * 2);
  s.is_backward = true;
  REQUIRE(attention_amounts(s, Precision::bf16).flops.value == Approx(2.5 * forward));
}

TEST_CASE("the three directions of a convolution are the three GEMMs of equal flops", "[cost]") {
  const ConvShape conv{8, 64, 56, 56, 128, 3, 2, 1};
  const GemmShape f = implicit_gemm(conv, Pass::forward),
                  d = implicit_gemm(conv, Pass::backward_data),
                  w = implicit_gemm(conv, Pass::backward_weight);
  REQUIRE(f.m == 8 * 28 * 28);
  REQUIRE(f.n == 128);
  REQUIRE(f.k == 64 * 9);
  for (const GemmShape& g : {d, w}) REQUIRE(g.m * g.n * g.k == f.m * f.n * f.k);
}

TEST_CASE("a precision that the GPU lacks runs as the nearest it has", "[cost]") {
  GpuSpec v100;
  v100.peak_flops[static_cast<std::size_t>(Precision::fp16)] = 125e12;
  v100.peak_flops[static_cast<std::size_t>(Precision::fp32)] = 15.7e12;
  REQUIRE(supported_precision(v100, Precision::bf16) == Precision::fp16);
  REQUIRE(supported_precision(v100, Precision::fp8) == Precision::fp16);
  REQUIRE(supported_precision(v100, Precision::tf32) == Precision::fp32);
  REQUIRE(supported_precision(v100, Precision::fp32) == Precision::fp32);
}
