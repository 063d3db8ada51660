#pragma once
#include "sim/workload/layer_builder.hpp"
#include "sim/workload/model_spec.hpp"

namespace stepcast {

/// Heads and widths of attention on one rank, after the split over tensor-parallel ranks.
struct AttentionHeads {
  std::int64_t heads = 0, kv_heads = 0, dim_qk = 0, dim_v = 0;
  std::int64_t qkv_width() const { return (heads + kv_heads) * dim_qk + kv_heads * dim_v; }
  std::int64_t out_width() const { return heads * dim_v; }
};
/// With more tensor-parallel ranks than key/value heads each rank holds one copied head.
AttentionHeads local_heads(const TransformerSpec& model, int tp);

/// softmax(Q K^T) V between the projections, with the context-parallel exchanges at their places.
///   ring:        keys and values travel around the cp ranks while each works on its T/cp queries;
///   the causal triangle is
///                dealt out so that every rank has half of (T/cp x T) (zig-zag order).
///   all-to-all:  heads are dealt out instead: the whole sequence, heads / cp (DeepSpeed Ulysses).
std::vector<LayerPiece> attention_pieces(const Shard& shard, const TransformerSpec& model,
                                         const AttentionHeads& heads);
}  // namespace stepcast
