#include "sim/timeline/op_names.hpp"
#include "sim/workload/attention_ops.hpp"
#include "sim/workload/linear_ops.hpp"
#include "sim/workload/op_makers.hpp"
#include "sim/workload/stream_ops.hpp"
#include "sim/workload/transformer_layer.hpp"

namespace stepcast {

/// Down-projections are small and held whole by every tensor-parallel rank, on its own tokens under
/// sequence parallelism; the up-projections are split by heads (Megatron-LM's MLA).
void add_latent_projections(LayerBuilder& builder, const TransformerSpec& model) {
  const Shard& shard = builder.shard();
  const LatentAttention& mla = *model.mla;
  const std::int64_t heads = local_heads(model, shard.layout.tp).heads,
                     dim_qk = mla.qk_nope_dim + mla.qk_rope_dim;
  const std::int64_t c = model.hidden, e = shard.element();

  if (mla.q_lora_rank > 0) {
    builder.add(linear_piece(shard, {.name = op::q_down,
                                     .rows = shard.norm_tokens,
                                     .out = mla.q_lora_rank,
                                     .in = c,
                                     .fed_by_norm = true}));
    builder.add(
        norm_piece(shard, op::q_norm, model.norm, shard.norm_tokens, mla.q_lora_rank, false));
    builder.add(linear_piece(shard, {.name = op::q_up,
                                     .rows = shard.tokens,
                                     .out = heads * dim_qk,
                                     .in = mla.q_lora_rank,
                                     .split = Split::column,
                                     .fed_by_norm = true}));
    builder.add_dense_parameters(mla.q_lora_rank * (c + heads * dim_qk) + mla.q_lora_rank);
  } else {
    builder.add(linear_piece(shard, {.name = op::q_up,
                                     .rows = shard.tokens,
                                     .out = heads * dim_qk,
                                     .in = c,
                                     .split = Split::column,
                                     .fed_by_norm = true}));
    builder.add_dense_parameters(c * heads * dim_qk);
  }
  builder.add(linear_piece(shard, {.name = op::kv_down,
                                   .rows = shard.norm_tokens,
                                   .out = mla.kv_lora_rank + mla.qk_rope_dim,
                                   .in = c,
                                   .fed_by_norm = true,
                                   .input_is_shared = true}));
  builder.add(
      norm_piece(shard, op::kv_norm, model.norm, shard.norm_tokens, mla.kv_lora_rank, false));
  builder.add(linear_piece(
      shard, {.name = op::kv_up,
              .rows = shard.tokens,
              .out = heads * (mla.qk_nope_dim + mla.v_dim),
              .in = mla.kv_lora_rank,
              .split = Split::column,
              .fed_by_norm = true,
              // the rotary part of the key travels with the compressed vector
              .exchange_bytes = shard.tokens * (mla.kv_lora_rank + mla.qk_rope_dim) * e}));
  builder.add_dense_parameters(c * (mla.kv_lora_rank + mla.qk_rope_dim) + mla.kv_lora_rank +
                               mla.kv_lora_rank * heads * (mla.qk_nope_dim + mla.v_dim));

  builder.add(rope_piece(shard, shard.tokens, (heads + 1) * mla.qk_rope_dim));
  // Keys are put together from the up-projection and the one rotary part that all heads share;
  // eager frameworks also put the query's two parts together again.
  const std::int64_t keys = shard.tokens * heads * dim_qk * e,
                     queries = shard.is_eager() ? keys : 0;
  LayerPiece assemble;
  assemble.forward = {stream_op(op::kv_expand, Pass::forward, StreamKind::copy, keys + queries,
                                keys + queries, 2, 1)};
  assemble.backward = {stream_op(op::kv_expand, Pass::backward_data, StreamKind::copy,
                                 keys + queries, keys + queries, 3, 1)};
  builder.add(assemble);
}
}  // namespace stepcast
