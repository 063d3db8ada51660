#include "sim/workload/model_blocks.hpp"
#include "sim/workload/other_models.hpp"

namespace stepcast {
namespace {
std::int64_t attention_parameters(const TransformerSpec& t) {
  const std::int64_t c = t.hidden;
  if (t.mla) {
    const LatentAttention& m = *t.mla;
    const std::int64_t queries = t.heads * (m.qk_nope_dim + m.qk_rope_dim);
    const std::int64_t query = m.q_lora_rank > 0 ? m.q_lora_rank * (c + queries) + m.q_lora_rank
                                                 : c * queries;  // + its norm
    return query + c * (m.kv_lora_rank + m.qk_rope_dim) + m.kv_lora_rank +
           m.kv_lora_rank * t.heads * (m.qk_nope_dim + m.v_dim) + t.heads * m.v_dim * c;
  }
  const std::int64_t qkv = (t.heads + 2 * t.kv_heads) * t.head_dim;
  return c * qkv + t.heads * t.head_dim * c + (t.bias ? qkv + c : 0);
}
std::int64_t mlp_parameters(const TransformerSpec& t, std::int64_t width, bool bias) {
  const std::int64_t up = width * (t.gated ? 2 : 1);
  return t.hidden * (up + width) + (bias ? up + t.hidden : 0);
}

std::int64_t transformer_parameters(const TransformerSpec& t) {
  const std::int64_t c = t.hidden, norm = c * (t.norm == NormKind::layernorm ? 2 : 1);
  std::int64_t total = t.vocab * c * (t.tied_embedding ? 1 : 2) + t.max_positions * c;
  for (std::int64_t block = 0; block < t.layers; ++block) {
    total += attention_parameters(t) + (t.parallel_block ? 1 : 2) * norm;
    if (has_experts(t, block))
      total += c * t.moe->experts + t.moe->experts * mlp_parameters(t, t.moe->expert_ffn, false) +
               (t.moe->shared_experts > 0 ? mlp_parameters(t, t.moe->shared_ffn, false) : 0);
    else
      total += mlp_parameters(t, t.ffn, t.bias);
  }
  if (t.is_encoder_with_mlm_head)
    // Segment embedding and its norm; pooler; masked-token transform with norm and output bias;
    // next-sentence classifier.
    return total + (2 * c + 2 * c) + (c * c + c) + (c * c + c + 2 * c + t.vocab) + (2 * c + 2);
  return total + norm;  // final norm
}
}  // namespace

std::int64_t parameter_count(const ModelSpec& model) {
  switch (model.kind) {
    case ModelKind::transformer:
    case ModelKind::moe:
      return transformer_parameters(model.transformer);
    case ModelKind::cnn:
      return cnn_parameters(model.cnn);
    case ModelKind::dlrm:
      return dlrm_parameters(model.dlrm);
    case ModelKind::custom:
      break;
  }
  std::int64_t total = 0;
  for (const CustomLayer& layer : model.custom) total += layer.parameters;
  return total;
}
}  // namespace stepcast
