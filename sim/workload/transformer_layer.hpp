#pragma once
#include "sim/workload/layer_builder.hpp"
#include "sim/workload/model_spec.hpp"

namespace stepcast {
/// One block: norm, attention, residual, norm, MLP or experts, residual. Pre-norm order; post-norm
/// models (BERT) run the same kernels in another order.
LayerWork transformer_block(const TransformerSpec& model, const Shard& shard, Recompute mode,
                            bool has_experts);
/// Input and output of a block on one rank in bytes: what pipeline stages exchange.
std::int64_t block_io_bytes(const TransformerSpec& model, const Shard& shard);

/// Adds the MLP of `width` (whole model) to a block: up, activation, down. `input_is_shared`:
/// another layer keeps the input; `gathers_input`: false where it also gathers it over
/// tensor-parallel ranks.
void add_dense_mlp(LayerBuilder& builder, const TransformerSpec& model, std::int64_t width,
                   std::string_view up, std::string_view act, std::string_view down,
                   bool input_is_shared = false, bool gathers_input = true);
/// Adds router, dispatch, experts, combine, shared experts.
void add_experts(LayerBuilder& builder, const TransformerSpec& model);
/// Adds the projections of multi-head latent attention up to Q, K, V (DeepSeek-V2 section 2.1).
void add_latent_projections(LayerBuilder& builder, const TransformerSpec& model);

LayerWork embedding_layer(const TransformerSpec& model, const Shard& shard);
/// Final norm, output projection, loss. `owns_weight`: false when the embedding's weight serves on
/// the same rank.
LayerWork head_layer(const TransformerSpec& model, const Shard& shard, bool owns_weight);
/// Rows of the vocabulary on all ranks together: Megatron pads to a multiple of 128 * tp so that
/// every rank's share is even.
std::int64_t padded_vocabulary(std::int64_t vocabulary, int tp);
}  // namespace stepcast
