#include "sim/workload/transformer_layer.hpp"

#include "sim/timeline/op_names.hpp"
#include "sim/workload/attention_ops.hpp"
#include "sim/workload/linear_ops.hpp"
#include "sim/workload/op_makers.hpp"
#include "sim/workload/stream_ops.hpp"

namespace stepcast {
namespace {
std::int64_t norm_parameters(const TransformerSpec& model) {
  return model.hidden * (model.norm == NormKind::layernorm ? 2 : 1);
}

/// Query, key and value in one projection, then what turns its output into the inputs of attention.
void add_qkv(LayerBuilder& builder, const TransformerSpec& model, const AttentionHeads& heads) {
  const Shard& shard = builder.shard();
  const std::int64_t width = heads.qkv_width(), bytes = shard.tokens * width * shard.element();
  builder.add(
      linear_piece(shard, {.name = op::qkv,
                           .rows = shard.tokens,
                           .out = width,
                           .in = model.hidden,
                           .split = Split::column,
                           .fed_by_norm = true,
                           .stacked = {heads.heads * heads.dim_qk, heads.kv_heads * heads.dim_qk,
                                       heads.kv_heads * heads.dim_v}}));
  builder.add_dense_parameters(width * model.hidden + (model.bias ? width : 0));
  LayerPiece split;
  if (model.bias) {
    // Fused GEMMs add the bias in their epilogue; its gradient is a sum over rows either way.
    if (shard.is_eager())
      split.forward.push_back(
          stream_op(op::qkv_bias, Pass::forward, StreamKind::elementwise, bytes, bytes, 1, 0));
    split.backward.push_back(
        stream_op(op::qkv_bias, Pass::backward_weight, StreamKind::reduction, bytes, 0, 1, 1));
  }
  // The gradients of Q, K and V are three tensors; the projection's backward wants one.
  split.backward.insert(split.backward.begin(), stream_op(op::qkv_grad, Pass::backward_data,
                                                          StreamKind::copy, bytes, bytes, 1, 1));
  builder.add(split);
  if (model.rope)
    builder.add(rope_piece(shard, shard.tokens, (heads.heads + heads.kv_heads) * heads.dim_qk));
}
/// Outputs of attention and MLP are summed before they leave the rank, and so are the two gradients
/// of the shared input.
LayerPiece parallel_sum_piece(std::int64_t bytes) {
  LayerPiece piece;
  piece.forward = {
      stream_op(op::residual, Pass::forward, StreamKind::elementwise, 2 * bytes, bytes, 1, 1)};
  piece.backward = {stream_op(op::residual_grad, Pass::backward_data, StreamKind::elementwise,
                              2 * bytes, bytes, 1, 1)};
  return piece;
}
}  // namespace

std::int64_t block_io_bytes(const TransformerSpec& model, const Shard& shard) {
  return shard.norm_tokens * model.hidden * shard.element();
}

void add_dense_mlp(LayerBuilder& builder, const TransformerSpec& model, std::int64_t width,
                   std::string_view up, std::string_view act, std::string_view down,
                   bool input_is_shared, bool gathers_input) {
  const Shard& shard = builder.shard();
  const std::int64_t local = width / shard.layout.tp, up_width = local * (model.gated ? 2 : 1);
  builder.add(linear_piece(
      shard, {.name = up,
              .rows = shard.tokens,
              .out = up_width,
              .in = model.hidden,
              .split = Split::column,
              .fed_by_norm = true,
              .input_is_shared = input_is_shared,
              .exchanges = gathers_input,
              .stacked = model.gated ? std::vector{local, local} : std::vector{local}}));
  builder.add(activation_piece(shard, act, shard.tokens, local, model.gated, model.bias));
  builder.add(linear_piece(
      shard,
      {.name = down, .rows = shard.tokens, .out = model.hidden, .in = local, .split = Split::row}));
  builder.add_dense_parameters((up_width + local) * model.hidden +
                               (model.bias ? up_width + model.hidden : 0));
  // While the backward passes through: the gradients around the activation, and whole-token
  // tensors: gathered output gradient, gathered input, input gradient before it is scattered,
  // gradient along the residual.
  builder.note_temporary(shard.tokens * (up_width + local + 4 * model.hidden) * shard.element());
}

LayerWork transformer_block(const TransformerSpec& model, const Shard& shard, Recompute mode,
                            bool has_experts) {
  LayerBuilder builder(has_experts ? "moe_block" : "block", shard);
  const AttentionHeads heads = local_heads(model, shard.layout.tp);

  builder.add(norm_piece(shard, op::norm1, model.norm, shard.norm_tokens, model.hidden));
  if (model.mla)
    add_latent_projections(builder, model);
  else
    add_qkv(builder, model, heads);
  for (LayerPiece& piece : attention_pieces(shard, model, heads)) builder.add(std::move(piece));
  builder.add(linear_piece(shard, {.name = op::attention_out,
                                   .rows = shard.tokens,
                                   .out = model.hidden,
                                   .in = heads.out_width(),
                                   .split = Split::row,
                                   .exchanges = !model.parallel_block}));
  builder.add_dense_parameters(heads.out_width() * model.hidden + (model.bias ? model.hidden : 0));
  if (!model.parallel_block) {
    builder.add(residual_piece(shard, shard.norm_tokens, model.hidden, model.bias, model.dropout));
    builder.add(norm_piece(shard, op::norm2, model.norm, shard.norm_tokens, model.hidden));
  } else {
    builder.add(parallel_sum_piece(shard.tokens * model.hidden * shard.element()));
  }
  if (has_experts)
    add_experts(builder, model);
  else
    add_dense_mlp(builder, model, model.ffn, op::mlp_up, op::mlp_act, op::mlp_down,
                  model.parallel_block, !model.parallel_block);
  builder.add(residual_piece(shard, shard.norm_tokens, model.hidden, model.bias && !has_experts,
                             model.dropout));
  builder.add_dense_parameters((model.parallel_block ? 1 : 2) * norm_parameters(model));

  const std::int64_t io = block_io_bytes(model, shard);
  LayerWork work = builder.finish(io, io, mode);
  // Experts share a shape, so frameworks that keep one buffer per shape keep one expert's.
  const std::int64_t one_expert =
      has_experts ? work.expert_parameters / (model.moe->experts / shard.layout.ep) : 0;
  work.weight_gradient = Bytes((work.dense_parameters + one_expert) * shard.element());
  return work;
}
}  // namespace stepcast
