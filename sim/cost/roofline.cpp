#include "sim/cost/roofline.hpp"

#include <algorithm>
#include <vector>

namespace stepcast {
namespace {
double real(std::int64_t x) { return static_cast<double>(x); }
Bytes rounded_bytes(double x) { return Bytes(static_cast<std::int64_t>(x + 0.5)); }

/// Precisions to try in turn where a GPU lacks one: first those of equal width, then wider ones.
std::vector<Precision> substitutes(Precision wanted) {
  using enum Precision;
  switch (wanted) {
    case fp32:
      return {fp32};
    case tf32:
      return {tf32, fp32};
    case fp16:
      return {fp16, bf16, tf32, fp32};
    case bf16:
      return {bf16, fp16, tf32, fp32};
    case fp8:
      return {fp8, bf16, fp16, tf32, fp32};
    case int8:
      return {int8, fp8, bf16, fp16, tf32, fp32};
  }
  return {fp32};
}
}  // namespace

KernelAmounts gemm_amounts(const GemmShape& s, Precision precision) {
  const double m = real(s.m), n = real(s.n), k = real(s.k), batch = real(s.batch);
  const double in = real(bytes_per_element(precision));
  const double out = std::max(in, 2.0);  // 8-bit inputs accumulate into a 16-bit result
  return {Flops(2 * m * n * k * batch),
          rounded_bytes(batch * (in * (m * k + k * n) + out * m * n))};
}

double attention_pairs(const AttentionShape& s) {
  const double q = real(s.query_length), k = real(s.key_length);
  if (!s.causal) return q * k;
  // Row i of q sees k - (q - 1 - i) keys; longer queries than keys leave the first rows empty.
  return q <= k ? q * k - q * (q - 1) / 2 : k * (k + 1) / 2;
}

KernelAmounts attention_amounts(const AttentionShape& s, Precision precision) {
  const double batch = real(s.batch), heads = real(s.heads), kv = real(s.kv_heads);
  const double dims = real(s.head_dim_qk + s.head_dim_v);
  const double forward_flops = 2 * batch * heads * attention_pairs(s) * dims;
  const double q_side = batch * heads * real(s.query_length) * dims;  // q read, result written
  const double kv_side = batch * kv * real(s.key_length) * dims;      // k and v read
  const double element = real(bytes_per_element(precision));
  if (!s.is_backward) return {Flops(forward_flops), rounded_bytes(element * (q_side + kv_side))};
  // Reads q, k, v, result and its gradient, writes three gradients: twice the forward's set and the
  // result once more.
  const double result = batch * heads * real(s.query_length) * real(s.head_dim_v);
  return {Flops(2.5 * forward_flops), rounded_bytes(element * (2 * (q_side + kv_side) + result))};
}

GemmShape implicit_gemm(const ConvShape& s, Pass pass) {
  const std::int64_t stride = std::max<std::int64_t>(1, s.stride),
                     groups = std::max<std::int64_t>(1, s.groups);
  const std::int64_t out_h = (s.h + stride - 1) / stride, out_w = (s.w + stride - 1) / stride;
  const std::int64_t positions = s.n * out_h * out_w;
  const std::int64_t window = s.c_in / groups * s.kernel * s.kernel, filters = s.c_out / groups;
  GemmShape gemm;
  gemm.batch = groups;
  if (pass == Pass::backward_data)
    gemm.m = positions, gemm.n = window, gemm.k = filters;
  else if (pass == Pass::backward_weight)
    gemm.m = filters, gemm.n = window, gemm.k = positions;
  else
    gemm.m = positions, gemm.n = filters, gemm.k = window;
  return gemm;
}

KernelAmounts conv_amounts(const ConvShape& s, Precision precision) {
  const GemmShape g = implicit_gemm(s, Pass::forward);
  const double groups = real(g.batch);
  const double input = real(s.n) * real(s.c_in) * real(s.h) * real(s.w);
  const double output = real(g.m) * real(g.n) * groups, filter = real(g.n) * real(g.k) * groups;
  return {Flops(2 * real(g.m) * real(g.n) * real(g.k) * groups),
          rounded_bytes(real(bytes_per_element(precision)) * (input + output + filter))};
}

Precision supported_precision(const GpuSpec& gpu, Precision wanted) {
  for (const Precision p : substitutes(wanted))
    if (gpu.peak_flops[static_cast<std::size_t>(p)] > 0) return p;
  for (const auto& [p, text] : EnumText<Precision>::table)
    if (gpu.peak_flops[static_cast<std::size_t>(p)] > 0) return p;
  return wanted;  // no peak at all: the caller's roofline is then bandwidth alone
}

Seconds roofline_time(const KernelAmounts& amounts, Precision precision, const GpuSpec& gpu) {
  const FlopsPerSecond peak = gpu.peak(precision);
  const Seconds memory = amounts.bytes / gpu.memory_bandwidth;
  return peak.value > 0 ? std::max(memory, amounts.flops / peak) : memory;
}
}  // namespace stepcast
