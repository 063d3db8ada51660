#pragma once
#include "runtime/layers/layer_context.hpp"

namespace stepcast::runtime {
/// How a weight is split over tensor-parallel ranks; the simulator's sim/workload/linear_ops.hpp
/// says what follows from it.
enum class WeightSplit : std::uint8_t { none, column, row };

/// y (rows, out) = x (rows, in) weight (out, in)^T. One op in the forward, two in the backward, and
/// the split's all-reduce: row: of y after the forward; column: of dx after the backward's first
/// product.
struct LinearCall {
  std::string_view name;
  WeightSplit split = WeightSplit::none;
  std::int64_t rows = 0, out = 0, in = 0;
  View x, weight, bias, y;  // bias (out), empty: none; added in the product's epilogue
  View dy, dx, dweight;     // dx empty: the input wants no gradient; dweight +=
  View dbias;               // +=, beside the weight's gradient; empty: none, or an op of its own
};
void linear_forward(const LayerContext& context, const LinearCall& call);
void linear_backward(const LayerContext& context, const LinearCall& call);
/// All-reduce over the tensor-parallel group, nothing when there is none.
void tensor_all_reduce(const LayerContext& context, View data, std::int64_t elements,
                       Reduction reduction = Reduction::sum);
}  // namespace stepcast::runtime
