#include "sim/workload/attention_ops.hpp"

#include <algorithm>

#include "sim/timeline/op_names.hpp"
#include "sim/workload/op_makers.hpp"

namespace stepcast {

AttentionHeads local_heads(const TransformerSpec& model, int tp) {
  if (model.mla) {
    const LatentAttention& mla = *model.mla;
    return {model.heads / tp, model.heads / tp, mla.qk_nope_dim + mla.qk_rope_dim, mla.v_dim};
  }
  return {model.heads / tp, std::max<std::int64_t>(model.kv_heads / tp, 1), model.head_dim,
          model.head_dim};
}

namespace {
struct Core {
  const Shard& shard;
  const TransformerSpec& model;
  AttentionHeads heads;
  std::int64_t queries, keys;
};

LayerPiece flash_piece(const Core& c) {
  // causal_skips_half = false stands for kernels that mask but do not skip the upper triangle.
  AttentionShape shape{.batch = c.shard.batch,
                       .heads = c.heads.heads,
                       .kv_heads = c.heads.kv_heads,
                       .query_length = c.queries,
                       .key_length = c.keys,
                       .head_dim_qk = c.heads.dim_qk,
                       .head_dim_v = c.heads.dim_v,
                       .causal = c.model.causal && c.shard.training.causal_skips_half};
  LayerPiece piece;
  piece.forward = {attention_op(op::attention, Pass::forward, c.shard.storage(), shape)};
  shape.is_backward = true;
  piece.backward = {attention_op(op::attention, Pass::backward_data, c.shard.storage(), shape)};
  piece.kept = c.shard.batch * c.heads.heads * c.queries * 4;  // log-sum-exp of each row, fp32
  piece.attention_output =
      c.shard.batch * c.queries * c.heads.heads * c.heads.dim_v * c.shard.element();
  return piece;
}

LayerPiece unfused_piece(const Core& c) {
  const std::int64_t e = c.shard.element(), batch = c.shard.batch * c.heads.heads;
  const std::int64_t square =
      batch * c.queries * c.keys;  // elements of the score matrix, the full square
  const std::int64_t context = c.shard.batch * c.queries * c.heads.out_width();
  const Precision precision = c.shard.storage();
  const bool eager = c.shard.is_eager(), dropout = c.model.dropout;
  LayerPiece piece;
  piece.is_attention_core = true;
  auto& f = piece.forward;
  auto& b = piece.backward;

  if (c.heads.kv_heads < c.heads.heads) {
    const std::int64_t narrow =
        c.shard.batch * c.keys * c.heads.kv_heads * (c.heads.dim_qk + c.heads.dim_v) * e;
    const std::int64_t wide = narrow / c.heads.kv_heads * c.heads.heads;
    f.push_back(stream_op(op::kv_expand, Pass::forward, StreamKind::copy, narrow, wide, 2, 2));
    piece.kept += wide;
  }
  f.push_back(gemm_op(op::attention_scores, Pass::forward, precision,
                      {c.queries, c.keys, c.heads.dim_qk, batch}));
  // Fused: scale, mask and softmax in one kernel that reads and writes 16 bit. Eager, as Megatron
  // without its fused kernel: widen, scale, mask, softmax, narrow; all but the ends in fp32.
  f.push_back(eager ? stream_op(op::attention_softmax, Pass::forward, StreamKind::softmax,
                                square * (e + 16), square * (16 + e), 5, 1)
                    : stream_op(op::attention_softmax, Pass::forward, StreamKind::softmax,
                                square * e, square * e, 5, 1));
  piece.kept += square * e;
  if (dropout) {
    f.push_back(stream_op(op::attention_dropout, Pass::forward, StreamKind::elementwise, square * e,
                          square * (e + 1), 1, 1));
    piece.kept += square * (e + 1);  // output and mask
  }
  f.push_back(gemm_op(op::attention_values, Pass::forward, precision,
                      {c.queries, c.heads.dim_v, c.keys, batch}));
  f.push_back(stream_op(op::attention_layout, Pass::forward, StreamKind::copy, context * e,
                        context * e, 1, 1));

  b.push_back(stream_op(op::attention_layout, Pass::backward_data, StreamKind::copy, context * e,
                        context * e, 1, 1));
  b.push_back(gemm_op(op::attention_values, Pass::backward_data, precision,
                      {c.queries, c.keys, c.heads.dim_v, batch}));
  b.push_back(gemm_op(op::attention_values, Pass::backward_data, precision,
                      {c.keys, c.heads.dim_v, c.queries, batch}));
  if (dropout)
    b.push_back(stream_op(op::attention_dropout, Pass::backward_data, StreamKind::elementwise,
                          square * (e + 1), square * e, 1, 1));
  b.push_back(eager ? stream_op(op::attention_softmax, Pass::backward_data, StreamKind::softmax,
                                square * (e + 20), square * (16 + e), 5, 1)
                    : stream_op(op::attention_softmax, Pass::backward_data, StreamKind::softmax,
                                2 * square * e, square * e, 5, 1));
  b.push_back(gemm_op(op::attention_scores, Pass::backward_data, precision,
                      {c.queries, c.heads.dim_qk, c.keys, batch}));
  b.push_back(gemm_op(op::attention_scores, Pass::backward_data, precision,
                      {c.keys, c.heads.dim_qk, c.queries, batch}));
  if (c.heads.kv_heads < c.heads.heads) {
    const std::int64_t wide =
        c.shard.batch * c.keys * c.heads.heads * (c.heads.dim_qk + c.heads.dim_v) * e;
    b.push_back(stream_op(op::kv_expand, Pass::backward_data, StreamKind::reduction, wide,
                          wide / c.heads.heads * c.heads.kv_heads, 2, 2));
  }
  return piece;
}

void add_ring(const Core& c, LayerPiece& piece) {
  const std::int64_t key_values = c.shard.batch * c.shard.sequence * c.heads.kv_heads *
                                  (c.heads.dim_qk + c.heads.dim_v) * c.shard.element();
  piece.forward.insert(piece.forward.begin(),
                       collective_op(op::cp_exchange, Pass::forward, Collective::all_gather,
                                     GroupKind::cp, key_values, true));
  // The backward passes keys and values around once more, and the gradients of both home.
  piece.backward.insert(
      piece.backward.begin(),
      {collective_op(op::cp_exchange, Pass::backward_data, Collective::all_gather, GroupKind::cp,
                     key_values, true),
       collective_op(op::cp_exchange, Pass::backward_data, Collective::reduce_scatter,
                     GroupKind::cp, key_values, true)});
}

LayerPiece exchange_piece(const Shard& shard, std::int64_t width) {
  const std::int64_t bytes = shard.tokens * width * shard.element();
  LayerPiece piece;
  piece.forward = {collective_op(op::qkv_all_to_all, Pass::forward, Collective::all_to_all,
                                 GroupKind::cp, bytes)};
  piece.backward = {collective_op(op::qkv_all_to_all, Pass::backward_data, Collective::all_to_all,
                                  GroupKind::cp, bytes)};
  return piece;
}
}  // namespace

std::vector<LayerPiece> attention_pieces(const Shard& shard, const TransformerSpec& model,
                                         const AttentionHeads& heads) {
  const int cp = shard.layout.cp;
  LayerPiece inputs;  // Q, K and V stay for the backward whatever is recomputed
  inputs.kept = shard.tokens * heads.qkv_width() * shard.element();
  std::vector<LayerPiece> pieces{inputs};
  const auto core = [&](const Core& c) {
    return shard.training.attention == AttentionKind::flash ? flash_piece(c) : unfused_piece(c);
  };
  if (cp > 1 && shard.layout.context == ContextKind::all_to_all) {
    AttentionHeads fewer = heads;
    fewer.heads = heads.heads / cp;
    fewer.kv_heads = std::max<std::int64_t>(heads.kv_heads / cp, 1);
    pieces.push_back(exchange_piece(shard, heads.qkv_width()));
    pieces.push_back(core({shard, model, fewer, shard.sequence, shard.sequence}));
    pieces.push_back(exchange_piece(shard, heads.out_width()));
    return pieces;
  }
  LayerPiece piece = core({shard, model, heads, shard.local_sequence, shard.sequence});
  if (cp > 1) add_ring({shard, model, heads, shard.local_sequence, shard.sequence}, piece);
  pieces.push_back(piece);
  return pieces;
}
}  // namespace stepcast
