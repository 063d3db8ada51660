#include "sim/workload/model_blocks.hpp"

#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/workload/op_makers.hpp"
#include "sim/workload/other_models.hpp"
#include "sim/workload/predicted_tokens.hpp"

namespace stepcast {

int block_count(const ModelSpec& model) {
  switch (model.kind) {
    case ModelKind::transformer:
    case ModelKind::moe:
      return static_cast<int>(model.transformer.layers);
    case ModelKind::cnn:
      return static_cast<int>(model.cnn.layers.size());
    case ModelKind::custom:
      return static_cast<int>(model.custom.size());
    case ModelKind::dlrm:
      break;
  }
  return 1;
}

bool has_experts(const TransformerSpec& model, std::int64_t index) {
  if (!model.moe || index < model.moe->first_dense_layers) return false;
  return (index - model.moe->first_dense_layers + 1) % model.moe->layer_interval == 0;
}

namespace {
double d(std::int64_t value) { return static_cast<double>(value); }

/// Weights of the matrices that one token meets in a block.
double attention_weights(const TransformerSpec& t) {
  const double c = d(t.hidden);
  if (t.mla) {
    const LatentAttention& m = *t.mla;
    const double heads = d(t.heads), dim_qk = d(m.qk_nope_dim + m.qk_rope_dim);
    const double query =
        m.q_lora_rank > 0 ? d(m.q_lora_rank) * (c + heads * dim_qk) : c * heads * dim_qk;
    return query + c * d(m.kv_lora_rank + m.qk_rope_dim) +
           d(m.kv_lora_rank) * heads * d(m.qk_nope_dim + m.v_dim) + heads * d(m.v_dim) * c;
  }
  return c * d((t.heads + 2 * t.kv_heads) * t.head_dim) + d(t.heads * t.head_dim) * c;
}
double mlp_weights(const TransformerSpec& t, std::int64_t width) {
  return (t.gated ? 3.0 : 2.0) * d(t.hidden) * d(width);
}

double transformer_forward(const TransformerSpec& t, double tokens) {
  const double dims =
      t.mla ? d(t.mla->qk_nope_dim + t.mla->qk_rope_dim + t.mla->v_dim) : 2.0 * d(t.head_dim);
  double weights = 0;
  for (std::int64_t block = 0; block < t.layers; ++block) {
    weights += attention_weights(t);
    if (has_experts(t, block))
      weights += d(t.hidden * t.moe->experts) +
                 d(t.moe->top_k) * mlp_weights(t, t.moe->expert_ffn) +
                 mlp_weights(t, t.moe->shared_ffn);
    else
      weights += mlp_weights(t, t.ffn);
  }
  double head = d(t.hidden) * d(t.vocab);
  if (t.is_encoder_with_mlm_head) head += d(t.hidden) * d(t.hidden);
  const double predicted = d(predicted_tokens(t, std::llround(tokens)));
  return 2 * tokens * weights + 2 * predicted * head +
         2 * tokens * tokens * d(t.heads) * dims * d(t.layers);
}
}  // namespace

Flops model_flops_per_sample(const ModelSpec& model, std::int64_t sequence_length) {
  switch (model.kind) {
    case ModelKind::transformer:
    case ModelKind::moe:
      return Flops(3 * transformer_forward(model.transformer, d(sequence_length)));
    case ModelKind::cnn:
      return Flops(3 * cnn_forward_flops(model.cnn));
    case ModelKind::dlrm:
      return Flops(3 * dlrm_forward_flops(model.dlrm));
    case ModelKind::custom:
      break;
  }
  double forward = 0;
  for (const CustomLayer& layer : model.custom) forward += layer.forward_flops_per_sample;
  return Flops(3 * forward);
}
}  // namespace stepcast
