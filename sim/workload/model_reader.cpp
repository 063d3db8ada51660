#include <fmt/format.h>

#include "sim/workload/model_spec.hpp"
#include "sim/workload/other_models.hpp"
#include "sim/workload/size_check.hpp"

namespace stepcast {
namespace {
constexpr std::int64_t kMaxWidth = 1 << 24, kMaxLayers = 1 << 16;

LatentAttention read_latent_attention(ObjectReader reader) {
  LatentAttention mla;
  mla.q_lora_rank =
      reader.integer("q_lora_rank", {.fallback = mla.q_lora_rank, .min = 0, .max = kMaxWidth});
  mla.kv_lora_rank =
      reader.integer("kv_lora_rank", {.fallback = mla.kv_lora_rank, .min = 1, .max = kMaxWidth});
  mla.qk_nope_dim =
      reader.integer("qk_nope_dim", {.fallback = mla.qk_nope_dim, .min = 1, .max = 4096});
  mla.qk_rope_dim =
      reader.integer("qk_rope_dim", {.fallback = mla.qk_rope_dim, .min = 1, .max = 4096});
  mla.v_dim = reader.integer("v_dim", {.fallback = mla.v_dim, .min = 1, .max = 4096});
  reader.done();
  return mla;
}

MixtureSpec read_mixture(ObjectReader reader, const TransformerSpec& model) {
  MixtureSpec moe;
  moe.experts = reader.integer("experts", {.min = 1, .max = 1 << 16});
  moe.top_k = reader.integer("top_k", {.fallback = 2, .min = 1, .max = 1 << 16});
  moe.shared_experts = reader.integer("shared_experts", {.fallback = 0, .min = 0, .max = 1 << 10});
  moe.expert_ffn =
      reader.integer("expert_ffn", {.fallback = model.ffn, .min = 1, .max = kMaxWidth});
  moe.shared_ffn = reader.integer(
      "shared_ffn", {.fallback = moe.shared_experts * moe.expert_ffn, .min = 0, .max = kMaxWidth});
  moe.first_dense_layers =
      reader.integer("first_dense_layers", {.fallback = 0, .min = 0, .max = kMaxLayers});
  moe.layer_interval =
      reader.integer("layer_interval", {.fallback = 1, .min = 1, .max = kMaxLayers});
  moe.capacity_factor = reader.number("capacity_factor", {.fallback = 0, .min = 0, .max = 1e4});
  moe.imbalance = reader.number("imbalance", {.fallback = 1, .min = 1, .max = 1e4});
  if (moe.top_k > moe.experts)
    reader.problem("top_k", fmt::format("{} is more than experts ({})", moe.top_k, moe.experts));
  if (moe.shared_experts == 0 && moe.shared_ffn > 0)
    reader.problem("shared_ffn", "has no effect with shared_experts 0");
  if (moe.capacity_factor > 0 && moe.imbalance != 1)
    reader.problem("imbalance",
                   "has no effect with a capacity_factor: every expert's buffer has the same size",
                   "leave one of the two out");
  reader.done();
  return moe;
}

TransformerSpec read_transformer(ObjectReader& reader, bool is_moe) {
  TransformerSpec t;
  t.layers = reader.integer("layers", {.min = 1, .max = kMaxLayers});
  t.hidden = reader.integer("hidden", {.min = 1, .max = kMaxWidth});
  t.heads = reader.integer("heads", {.min = 1, .max = 1 << 16});
  t.kv_heads = reader.integer("kv_heads", {.fallback = t.heads, .min = 1, .max = 1 << 16});
  if (const auto head_dim = reader.optional_integer("head_dim", {.min = 1, .max = 1 << 14})) {
    t.head_dim = *head_dim;
  } else if (t.hidden % t.heads == 0) {
    t.head_dim = t.hidden / t.heads;
  } else {
    t.head_dim = std::max<std::int64_t>(t.hidden / t.heads, 1);
    reader.problem("heads", fmt::format("{} does not divide hidden ({})", t.heads, t.hidden),
                   "state head_dim where they are independent");
  }
  t.gated = reader.boolean("gated", false);
  t.ffn = reader.integer("ffn", {.fallback = 4 * t.hidden, .min = 1, .max = kMaxWidth});
  t.vocab = reader.integer("vocab", {.min = 1, .max = kMaxWidth});
  t.max_positions = reader.integer("max_positions", {.fallback = 0, .min = 0, .max = 1 << 26});
  t.rope = reader.boolean("rope", t.max_positions == 0);
  t.tied_embedding = reader.boolean("tied_embedding", true);
  t.bias = reader.boolean("bias", true);
  t.causal = reader.boolean("causal", true);
  t.dropout = reader.boolean("dropout", false);
  t.parallel_block = reader.boolean("parallel_block", false);
  t.is_encoder_with_mlm_head = reader.boolean("is_encoder_with_mlm_head", false);
  t.norm = reader.one_of<NormKind>("norm", NormKind::layernorm);
  if (auto mla = reader.object("mla")) t.mla = read_latent_attention(std::move(*mla));
  if (auto moe = reader.object("moe")) {
    if (!is_moe) reader.problem("moe", "is given for kind \"transformer\"", "set kind to \"moe\"");
    t.moe = read_mixture(std::move(*moe), t);
    if (t.moe->first_dense_layers >= t.layers)
      reader.problem("moe/first_dense_layers",
                     fmt::format("{} leaves no layer with experts out of {}",
                                 t.moe->first_dense_layers, t.layers));
  } else if (is_moe) {
    reader.problem("moe", "is missing; an object with experts, top_k and expert_ffn is expected");
  }
  if (t.parallel_block && t.moe)
    reader.problem("parallel_block", "is true for a mixture", "leave it out");
  if (t.parallel_block && t.mla)
    reader.problem("parallel_block", "is true with latent attention", "leave it out");
  if (t.heads % t.kv_heads != 0)
    reader.problem("kv_heads", fmt::format("{} does not divide heads ({})", t.kv_heads, t.heads));
  if (t.is_encoder_with_mlm_head && t.causal)
    reader.problem("causal", "is true for an encoder", "set causal to false");
  return t;
}
}  // namespace

ModelSpec read_model(ObjectReader reader) {
  ModelSpec model;
  const std::string preset = reader.text("preset", "custom");  // merged in before; kept as the name
  model.name = reader.text("name", preset);
  reader.text("source", "");  // where a preset's figures come from: for people
  model.kind = reader.one_of<ModelKind>("kind", ModelKind::transformer);
  switch (model.kind) {
    case ModelKind::transformer:
      model.transformer = read_transformer(reader, false);
      break;
    case ModelKind::moe:
      model.transformer = read_transformer(reader, true);
      break;
    case ModelKind::cnn:
      model.cnn = read_cnn(reader);
      break;
    case ModelKind::dlrm:
      model.dlrm = read_dlrm(reader);
      break;
    case ModelKind::custom:
      model.custom = read_custom(reader);
      break;
  }
  check_model_size(model, reader);
  reader.done();
  return model;
}
}  // namespace stepcast
