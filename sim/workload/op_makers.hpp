#pragma once
#include <string_view>
#include <vector>

#include "sim/workload/op.hpp"

/// Short constructors of Op, so that a layer reads as the list of its kernels.
namespace stepcast {
Op gemm_op(std::string_view name, Pass pass, Precision precision, GemmShape shape);
Op attention_op(std::string_view name, Pass pass, Precision precision, AttentionShape shape);
/// `read` and `written` in bytes. Launches: kernels of an eager framework, and of one with fused
/// kernels.
Op stream_op(std::string_view name, Pass pass, StreamKind kind, std::int64_t read,
             std::int64_t written, int eager_launches, int fused_launches);
Op conv_op(std::string_view name, Pass pass, Precision precision, ConvShape shape);
Op collective_op(std::string_view name, Pass pass, Collective collective, GroupKind group,
                 std::int64_t buffer, bool overlappable = false);

/// Multiply-adds counted as two.
Flops gemm_flops(const GemmShape& shape);
/// Scores and values: 2 * B * H * Tq * Tk * (d_qk + d_v), half of it when causal and Tq = Tk, 2.5
/// times for the backward (five matrix products in place of two; Dao 2022).
Flops attention_flops(const AttentionShape& shape);
/// Output height or width of a convolution with "same" padding.
std::int64_t conv_output(std::int64_t input, std::int64_t stride);
}  // namespace stepcast
