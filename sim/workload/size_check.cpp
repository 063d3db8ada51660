#include "sim/workload/size_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepcast {
namespace {
double d(std::int64_t value) { return static_cast<double>(value); }
constexpr double kMostParameters = 1e15, kMostBytes = 1e16;

/// Never below the real count, in doubles because the real one may not fit.
double parameter_bound(const ModelSpec& model) {
  const TransformerSpec& t = model.transformer;
  double total = 0;
  switch (model.kind) {
    case ModelKind::transformer:
    case ModelKind::moe: {
      const double c = d(t.hidden);
      double block = 4 * c * d(t.heads) * d(t.head_dim) + 3 * c * d(t.ffn);
      if (t.mla)
        block += d(t.heads) * d(t.mla->qk_nope_dim + t.mla->qk_rope_dim + t.mla->v_dim) *
                 (d(t.mla->q_lora_rank + t.mla->kv_lora_rank) + c);
      if (t.moe)
        block += 3 * c * (d(t.moe->experts) * d(t.moe->expert_ffn) + d(t.moe->shared_ffn)) +
                 c * d(t.moe->experts);
      return d(t.layers) * block + c * (2 * d(t.vocab) + d(t.max_positions)) + 3 * c * c;
    }
    case ModelKind::cnn: {
      for (const ConvLayer& l : model.cnn.layers)
        total += d(l.c_out) * d(l.c_in) * d(l.kernel) * d(std::max(l.kernel, l.kernel_w));
      double width = d(model.cnn.features);
      for (const std::int64_t next : model.cnn.hidden_fc) total += width * d(next), width = d(next);
      return total + width * d(model.cnn.classes);
    }
    case ModelKind::dlrm: {
      const DlrmSpec& m = model.dlrm;
      const double joined =
          d(m.tables + 1) * d(m.embedding_dim) + d(m.tables + 1) * d(m.tables + 1);
      total = d(m.tables) * d(m.rows_per_table) * d(m.embedding_dim) +
              2 * d(m.cross_layers) * joined * d(m.cross_rank);
      double width = d(m.dense_features);
      for (const std::int64_t next : m.bottom_mlp) total += width * d(next), width = d(next);
      width = joined;
      for (const std::int64_t next : m.top_mlp) total += width * d(next), width = d(next);
      return total;
    }
    case ModelKind::custom:
      break;
  }
  for (const CustomLayer& layer : model.custom) total += d(layer.parameters);
  return total;
}

/// Bytes per sample of the widest thing a layer holds, at 32 bytes per element (the widest eager
/// chain reads 20).
double bytes_per_sample_bound(const ModelSpec& model, const TrainingSpec& training) {
  const TransformerSpec& t = model.transformer;
  double widest = 0;
  switch (model.kind) {
    case ModelKind::transformer:
    case ModelKind::moe: {
      const double s = d(training.sequence_length);
      double width = 4 * d(t.hidden) + 3 * d(t.ffn) + d(t.vocab) + 4 * d(t.heads) * d(t.head_dim);
      if (t.mla)
        width += 4 * d(t.heads) * d(t.mla->qk_nope_dim + t.mla->qk_rope_dim + t.mla->v_dim);
      if (t.moe)
        width += std::max(t.moe->imbalance, t.moe->capacity_factor) * d(t.moe->top_k) *
                     (d(t.hidden) + 3 * d(t.moe->expert_ffn)) * 64 +
                 d(t.moe->experts);
      if (training.attention == AttentionKind::unfused) width += d(t.heads) * s;
      return 32 * s * width;
    }
    case ModelKind::cnn:
      for (const ConvLayer& l : model.cnn.layers)
        widest = std::max(widest, d(l.h) * d(l.w) * d(std::max(l.c_in, l.c_out)));
      for (const std::int64_t width : model.cnn.hidden_fc) widest = std::max(widest, d(width));
      return 32 * std::max({widest, d(model.cnn.features), d(model.cnn.classes)});
    case ModelKind::dlrm: {
      const DlrmSpec& m = model.dlrm;
      const double vectors = d(m.tables + 1);
      widest = vectors * d(m.embedding_dim) * std::max(1.0, m.pooling) + vectors * vectors;
      for (const auto* widths : {&m.bottom_mlp, &m.top_mlp})
        for (const std::int64_t width : *widths) widest = std::max(widest, d(width));
      return 32 * widest;
    }
    case ModelKind::custom:
      break;
  }
  for (const CustomLayer& l : model.custom)
    widest = std::max({widest, 2 * l.bytes_per_sample, l.activation_bytes_per_sample});
  return widest;
}
}  // namespace

void check_model_size(const ModelSpec& model, ObjectReader& reader) {
  const double parameters = parameter_bound(model);
  if (parameters > kMostParameters)
    reader.problem("", fmt::format("describes about {:.2g} parameters, more than {:.0e}",
                                   parameters, kMostParameters));
}

void check_batch_size(const ModelSpec& model, const TrainingSpec& training, const std::string& file,
                      Problems& problems) {
  const double bytes = bytes_per_sample_bound(model, training) * d(training.micro_batch);
  if (bytes > kMostBytes)
    problems.add(
        {file, "/training/micro_batch",
         fmt::format(
             "{} with sequence_length {} makes one layer hold about {:.2g} bytes, more than {:.0e}",
             training.micro_batch, training.sequence_length, bytes, kMostBytes),
         ""});
}
}  // namespace stepcast
