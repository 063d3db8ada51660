#include <algorithm>
#include <cmath>

#include "sim/timeline/op_names.hpp"
#include "sim/workload/linear_ops.hpp"
#include "sim/workload/op_makers.hpp"
#include "sim/workload/stream_ops.hpp"
#include "sim/workload/transformer_layer.hpp"

namespace stepcast {
namespace {
/// What one rank of an expert group sends, receives and computes.
///
///   my tokens --router, permute--> copies --dispatch (ep)--> rows --[gather over expert tp]-->
///   experts experts --[scatter over expert tp]--> rows --combine (ep)--> copies --unpermute--> my
///   tokens
struct Routing {
  Routing(const TransformerSpec& model, const Shard& shard)
      : moe(*model.moe),
        ep(shard.layout.ep),
        expert_tp(shard.layout.expert_tp),
        tokens(shard.norm_tokens),
        local_experts(moe.experts / ep) {
    const double mean = static_cast<double>(tokens * moe.top_k);
    // Dropless: the busiest rank works on `imbalance` times the mean, and everyone waits for it.
    // With a capacity each expert's buffer is padded, or cut, to that multiple of the mean.
    copies = std::llround(moe.capacity_factor > 0 ? mean * moe.capacity_factor : mean);
    rows_per_expert = std::max<std::int64_t>(
        std::llround((moe.capacity_factor > 0 ? mean * moe.capacity_factor : mean * moe.imbalance) *
                     expert_tp / static_cast<double>(local_experts)),
        1);
    rows = rows_per_expert * local_experts;
  }
  const MixtureSpec& moe;
  std::int64_t ep, expert_tp;
  std::int64_t tokens, copies, local_experts, rows_per_expert, rows;
};

void add_router(LayerBuilder& builder, const TransformerSpec& model, const Routing& r) {
  const Shard& shard = builder.shard();
  builder.add(linear_piece(shard, {.name = op::router,
                                   .rows = r.tokens,
                                   .out = r.moe.experts,
                                   .in = model.hidden,
                                   .fed_by_norm = true}));
  builder.add_dense_parameters(model.hidden * r.moe.experts);
  const std::int64_t scores = r.tokens * r.moe.experts * 4;  // fp32
  LayerPiece choose;  // softmax or sigmoid, top-k, the map of copies, the balancing loss
  choose.forward = {
      stream_op(op::router, Pass::forward, StreamKind::softmax, 4 * scores, 3 * scores, 14, 5)};
  choose.backward = {stream_op(op::router, Pass::backward_data, StreamKind::softmax, 3 * scores,
                               2 * scores, 8, 3)};
  choose.kept = 2 * scores;
  builder.add(choose);
}

/// Tokens to the ranks of their experts.
LayerPiece dispatch_piece(const TransformerSpec& model, const Shard& shard, const Routing& r) {
  const std::int64_t width = model.hidden * shard.element(), mine = r.tokens * width,
                     copies = r.copies * width, rows = r.rows * width;
  LayerPiece piece;
  piece.forward.push_back(
      stream_op(op::permute, Pass::forward, StreamKind::copy, copies, copies, 3, 1));
  if (r.ep > 1)
    piece.forward.push_back(
        collective_op(op::dispatch, Pass::forward, Collective::all_to_all, GroupKind::ep, copies));
  if (r.expert_tp > 1)
    piece.forward.push_back(collective_op(op::tp_all_gather, Pass::forward, Collective::all_gather,
                                          GroupKind::tp, copies * r.expert_tp));
  const bool sorts = r.ep * r.expert_tp > 1 &&
                     r.local_experts > 1;  // what arrived by source rank is sorted by expert
  if (sorts)
    piece.forward.push_back(
        stream_op(op::permute, Pass::forward, StreamKind::copy, rows, rows, 3, 1));

  if (sorts)
    piece.backward.push_back(
        stream_op(op::permute, Pass::backward_data, StreamKind::copy, rows, rows, 3, 1));
  if (r.expert_tp > 1)
    piece.backward.push_back(collective_op(op::tp_reduce_scatter, Pass::backward_data,
                                           Collective::reduce_scatter, GroupKind::tp,
                                           copies * r.expert_tp));
  if (r.ep > 1)
    piece.backward.push_back(collective_op(op::dispatch, Pass::backward_data,
                                           Collective::all_to_all, GroupKind::ep, copies));
  piece.backward.push_back(
      stream_op(op::permute, Pass::backward_data, StreamKind::reduction, copies, mine, 3, 1));
  return piece;
}

LayerPiece combine_piece(const TransformerSpec& model, const Shard& shard, const Routing& r) {
  const std::int64_t width = model.hidden * shard.element(), mine = r.tokens * width,
                     copies = r.copies * width, rows = r.rows * width;
  const bool sorts = r.ep * r.expert_tp > 1 && r.local_experts > 1;
  LayerPiece piece;
  if (sorts)
    piece.forward.push_back(
        stream_op(op::unpermute, Pass::forward, StreamKind::copy, rows, rows, 3, 1));
  if (r.expert_tp > 1)
    piece.forward.push_back(collective_op(op::tp_reduce_scatter, Pass::forward,
                                          Collective::reduce_scatter, GroupKind::tp,
                                          copies * r.expert_tp));
  if (r.ep > 1)
    piece.forward.push_back(
        collective_op(op::combine, Pass::forward, Collective::all_to_all, GroupKind::ep, copies));
  piece.forward.push_back(
      stream_op(op::unpermute, Pass::forward, StreamKind::reduction, copies, mine, 4, 1));

  piece.backward.push_back(
      stream_op(op::unpermute, Pass::backward_data, StreamKind::copy, mine + copies, copies, 5, 1));
  if (r.ep > 1)
    piece.backward.push_back(collective_op(op::combine, Pass::backward_data, Collective::all_to_all,
                                           GroupKind::ep, copies));
  if (r.expert_tp > 1)
    piece.backward.push_back(collective_op(op::tp_all_gather, Pass::backward_data,
                                           Collective::all_gather, GroupKind::tp,
                                           copies * r.expert_tp));
  if (sorts)
    piece.backward.push_back(
        stream_op(op::unpermute, Pass::backward_data, StreamKind::copy, rows, rows, 3, 1));
  return piece;
}

/// One matrix product of every local expert in one launch.
LayerPiece grouped_linear(const Shard& shard, std::string_view name, const Routing& r,
                          std::int64_t out, std::int64_t in) {
  const Precision precision = shard.training.precision;
  const std::int64_t m = r.rows_per_expert, n = r.local_experts;
  LayerPiece piece;
  if (shard.uses_8_bit()) {
    piece.forward.push_back(stream_op(op::cast, Pass::forward, StreamKind::copy, 2 * r.rows * in,
                                      2 * r.rows * in, 2, 1));
    piece.backward.push_back(stream_op(op::cast, Pass::backward_data, StreamKind::copy,
                                       2 * r.rows * out, 2 * r.rows * out, 2, 1));
  }
  const auto launches = [&](Op op) {  // an eager framework loops over its experts
    op.eager_launches = static_cast<int>(n);
    return op;
  };
  piece.forward.push_back(launches(gemm_op(name, Pass::forward, precision, {m, out, in, n, true})));
  piece.backward.push_back(
      launches(gemm_op(name, Pass::backward_data, precision, {m, in, out, n, true})));
  piece.backward.push_back(
      launches(gemm_op(name, Pass::backward_weight, precision, {out, in, m, n, true})));
  for (Op& op : grad_accumulate_ops(shard, n * out * in)) piece.backward.push_back(std::move(op));
  piece.kept = r.rows * in * shard.saved_element();
  return piece;
}
}  // namespace

void add_experts(LayerBuilder& builder, const TransformerSpec& model) {
  const Shard& shard = builder.shard();
  const Routing r(model, shard);
  const std::int64_t width = r.moe.expert_ffn / r.expert_tp,
                     up_width = width * (model.gated ? 2 : 1);

  add_router(builder, model, r);
  builder.add(dispatch_piece(model, shard, r));
  builder.add(grouped_linear(shard, op::expert_up, r, up_width, model.hidden));
  builder.add(activation_piece(shard, op::expert_act, r.rows, width, model.gated, false));
  builder.add(grouped_linear(shard, op::expert_down, r, model.hidden, width));
  builder.add(combine_piece(model, shard, r));
  builder.add_expert_parameters(r.local_experts * (up_width + width) * model.hidden);
  builder.note_temporary(
      (r.rows * (up_width + width + model.hidden) + 4 * r.tokens * model.hidden) * shard.element());

  if (r.moe.shared_experts > 0) {
    TransformerSpec unbiased = model;
    unbiased.bias = false;
    add_dense_mlp(builder, unbiased, r.moe.shared_ffn, op::shared_up, op::shared_act,
                  op::shared_down, true);
  }
}
}  // namespace stepcast
