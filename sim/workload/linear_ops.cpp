#include "sim/workload/linear_ops.hpp"

#include "sim/timeline/op_names.hpp"
#include "sim/workload/op_makers.hpp"

namespace stepcast {
namespace {
/// 8-bit inputs: read 16 bit, write the value and its transpose, which the weight-gradient product
/// needs on Hopper.
Op cast_op(Pass pass, std::int64_t elements) {
  return stream_op(op::cast, pass, StreamKind::copy, 2 * elements, 2 * elements, 2, 1);
}
/// Dynamic scales: a pass for the maximum, then the cast into one layout.
Op scaled_cast_op(Pass pass, std::int64_t elements, std::int64_t layouts) {
  return stream_op(op::cast, pass, StreamKind::copy, 4 * elements, layouts * elements, 3, 3);
}
}  // namespace

std::vector<Op> grad_accumulate_ops(const Shard& shard, std::int64_t elements) {
  const std::int64_t e = shard.element(), g = bytes_per_element(shard.training.gradient_precision);
  if (shard.training.fused_gradient_accumulation) return {};
  if (g == e && micro_batch_count(shard.layout, shard.training) <= 1) return {};
  return {stream_op(op::grad_accumulate, Pass::backward_weight, StreamKind::elementwise,
                    elements * (e + g), elements * g, 1, 1)};
}

LayerPiece linear_piece(const Shard& shard, const Linear& l) {
  const Precision precision = shard.training.precision;
  const bool parallel = shard.layout.tp > 1 && l.split != Split::none && l.exchanges;
  const bool sequence_parallel = parallel && shard.layout.sequence_parallel;
  const std::int64_t exchange =
      l.exchange_bytes > 0 ? l.exchange_bytes
                           : l.rows * (l.split == Split::row ? l.out : l.in) * shard.element();
  LayerPiece piece;
  auto& forward = piece.forward;
  auto& backward = piece.backward;

  const bool is_dynamic =
      shard.uses_8_bit() && shard.training.narrow_scaling == NarrowScaling::dynamic;
  if (is_dynamic) {
    forward.push_back(scaled_cast_op(Pass::forward, l.rows * l.in, 1));
    forward.push_back(scaled_cast_op(Pass::forward, l.out * l.in, 1));
  } else if (shard.uses_8_bit() && !(l.fed_by_norm && !shard.is_eager())) {
    forward.push_back(cast_op(Pass::forward, l.rows * l.in));
  }
  if (sequence_parallel && l.split == Split::column)
    forward.push_back(collective_op(op::tp_all_gather, Pass::forward, Collective::all_gather,
                                    GroupKind::tp, exchange, true));
  forward.push_back(
      gemm_op(l.name, Pass::forward, precision, {.m = l.rows, .n = l.out, .k = l.in}));
  if (parallel && l.split == Split::row) {
    if (sequence_parallel)
      forward.push_back(collective_op(op::tp_reduce_scatter, Pass::forward,
                                      Collective::reduce_scatter, GroupKind::tp, exchange, true));
    else
      forward.push_back(collective_op(op::tp_all_reduce, Pass::forward, Collective::all_reduce,
                                      GroupKind::tp, exchange));
  }

  if (is_dynamic) {
    // The output's gradient in both layouts; weight and input are kept in 16 bit and cast again in
    // the layout of their product.
    backward.push_back(scaled_cast_op(Pass::backward_data, l.rows * l.out, 2));
    backward.push_back(scaled_cast_op(Pass::backward_data, l.out * l.in, 1));
    backward.push_back(scaled_cast_op(Pass::backward_weight, l.rows * l.in, 1));
  } else if (shard.uses_8_bit()) {
    backward.push_back(cast_op(Pass::backward_data, l.rows * l.out));
  }
  if (sequence_parallel) {
    // column: the input again, for the weight gradient; row: the output's gradient.
    backward.push_back(collective_op(op::tp_all_gather, Pass::backward_data, Collective::all_gather,
                                     GroupKind::tp, exchange, true));
  }
  if (l.needs_input_grad)
    backward.push_back(
        gemm_op(l.name, Pass::backward_data, precision, {.m = l.rows, .n = l.in, .k = l.out}));
  if (parallel && l.split == Split::column && l.needs_input_grad) {
    if (sequence_parallel)
      backward.push_back(collective_op(op::tp_reduce_scatter, Pass::backward_data,
                                       Collective::reduce_scatter, GroupKind::tp, exchange, true));
    else
      backward.push_back(collective_op(op::tp_all_reduce, Pass::backward_data,
                                       Collective::all_reduce, GroupKind::tp, exchange, true));
  }
  backward.push_back(
      gemm_op(l.name, Pass::backward_weight, precision, {.m = l.out, .n = l.in, .k = l.rows}));
  for (Op& op : grad_accumulate_ops(shard, l.out * l.in)) backward.push_back(std::move(op));

  // Under sequence parallelism a column-split layer keeps its own tokens only and gathers again.
  const std::int64_t kept_rows =
      sequence_parallel && l.split == Split::column ? l.rows / shard.layout.tp : l.rows;
  for (const std::int64_t width : l.stacked.empty() ? std::vector{l.out} : l.stacked)
    piece.product_outputs.push_back(l.rows * width * shard.element());
  if (!l.input_is_shared) piece.kept = kept_rows * l.in * shard.saved_element();
  return piece;
}
}  // namespace stepcast
