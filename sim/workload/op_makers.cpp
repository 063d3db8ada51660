#include "sim/workload/op_makers.hpp"

namespace stepcast {
namespace {
double d(std::int64_t value) { return static_cast<double>(value); }
}  // namespace

Flops gemm_flops(const GemmShape& shape) {
  return Flops(2.0 * d(shape.m) * d(shape.n) * d(shape.k) * d(shape.batch));
}

Flops attention_flops(const AttentionShape& shape) {
  double flops = 2.0 * d(shape.batch) * d(shape.heads) * d(shape.query_length) *
                 d(shape.key_length) * d(shape.head_dim_qk + shape.head_dim_v);
  if (shape.causal) flops *= 0.5;
  if (shape.is_backward) flops *= 2.5;
  return Flops(flops);
}

std::int64_t conv_output(std::int64_t input, std::int64_t stride) {
  return (input + stride - 1) / stride;
}

Op gemm_op(std::string_view name, Pass pass, Precision precision, GemmShape shape) {
  return Op{.name = std::string(name),
            .pass = pass,
            .precision = precision,
            .shape = shape,
            .flops = gemm_flops(shape)};
}

Op attention_op(std::string_view name, Pass pass, Precision precision, AttentionShape shape) {
  // The flash backward is three kernels: row sums of dO * O, the main loop, and the conversion of
  // dQ.
  const int launches = shape.is_backward ? 3 : 1;
  return Op{.name = std::string(name),
            .pass = pass,
            .precision = precision,
            .shape = shape,
            .eager_launches = launches,
            .fused_launches = launches,
            .flops = attention_flops(shape)};
}

Op stream_op(std::string_view name, Pass pass, StreamKind kind, std::int64_t read,
             std::int64_t written, int eager_launches, int fused_launches) {
  return Op{.name = std::string(name),
            .pass = pass,
            .shape = StreamShape{kind, Bytes(read), Bytes(written)},
            .eager_launches = eager_launches,
            .fused_launches = fused_launches};
}

Op conv_op(std::string_view name, Pass pass, Precision precision, ConvShape s) {
  const double flops = 2.0 * d(s.n) * d(conv_output(s.h, s.stride)) *
                       d(conv_output(s.w, s.stride)) * d(s.c_out) * d(s.c_in / s.groups) *
                       d(s.kernel) * d(s.kernel_w > 0 ? s.kernel_w : s.kernel);
  return Op{.name = std::string(name),
            .pass = pass,
            .precision = precision,
            .shape = s,
            .flops = Flops(flops)};
}

Op collective_op(std::string_view name, Pass pass, Collective collective, GroupKind group,
                 std::int64_t buffer, bool overlappable) {
  return Op{.name = std::string(name),
            .pass = pass,
            .shape = CollectiveShape{collective, group, Bytes(buffer)},
            .overlappable = overlappable};
}
}  // namespace stepcast
