#include "sim/workload/model_work.hpp"

#include <map>

#include "sim/core/assert.hpp"
#include "sim/workload/model_blocks.hpp"
#include "sim/workload/other_models.hpp"
#include "sim/workload/transformer_layer.hpp"

namespace stepcast {
namespace {

/// Which blocks recompute: all, every `recompute_interval`-th from the first on, or the first
/// `recompute_layers` of every stage, counted through its chunks.
std::vector<bool> recomputed_blocks(const TrainingSpec& training, const ParallelLayout& layout,
                                    int blocks) {
  std::vector<bool> recomputed(static_cast<std::size_t>(blocks),
                               training.recompute == Recompute::full);
  if (training.recompute != Recompute::full) return recomputed;
  for (std::size_t block = 0; block < recomputed.size(); ++block)
    recomputed[block] = static_cast<std::int64_t>(block) % training.recompute_interval == 0;
  if (training.recompute_layers == 0) return recomputed;
  for (int stage = 0; stage < layout.pp; ++stage) {
    std::int64_t left = training.recompute_layers;
    for (int chunk = 0; chunk < layout.virtual_stages; ++chunk) {
      const LayerRange range = blocks_of(stage, chunk, blocks, layout);
      for (int block = range.first; block < range.last; ++block, --left)
        recomputed[static_cast<std::size_t>(block)] = left > 0;
    }
  }
  return recomputed;
}

ModelWork transformer_work(const TransformerSpec& model, const Shard& shard) {
  const ParallelLayout& layout = shard.layout;
  ModelWork work;
  work.kinds.push_back(embedding_layer(model, shard));
  work.before = {0};
  const std::vector<bool> recomputed =
      recomputed_blocks(shard.training, layout, static_cast<int>(model.layers));
  std::map<std::pair<bool, bool>, int> kinds;  // (has experts, recomputed) -> kind
  for (std::int64_t block = 0; block < model.layers; ++block) {
    const bool experts = has_experts(model, block),
               again = recomputed[static_cast<std::size_t>(block)];
    const auto [entry, is_new] =
        kinds.try_emplace({experts, again}, static_cast<int>(work.kinds.size()));
    if (is_new) {
      const Recompute mode = again ? Recompute::full
                             : shard.training.recompute == Recompute::selective
                                 ? Recompute::selective
                                 : Recompute::none;
      work.kinds.push_back(transformer_block(model, shard, mode, experts));
      if (again) work.kinds.back().name += "_recomputed";
    }
    work.blocks.push_back(entry->second);
  }
  // Tied weights sit once on a single stage; on two stages each has a copy and their gradients are
  // summed.
  const bool has_copy = model.tied_embedding && layout.pp > 1;
  work.kinds.push_back(head_layer(model, shard, !model.tied_embedding || has_copy));
  work.after = {static_cast<int>(work.kinds.size()) - 1};
  if (has_copy)
    work.tied_parameters = padded_vocabulary(model.vocab, layout.tp) / layout.tp * model.hidden;
  return work;
}
}  // namespace

ModelWork model_work(const ModelSpec& model, const TrainingSpec& training,
                     const ParallelLayout& layout) {
  STEPCAST_ASSERT(layout.dp > 0, "check_layout refuses a layout without dp");
  const Shard shard(training, layout);
  ModelWork work;
  switch (model.kind) {
    case ModelKind::transformer:
    case ModelKind::moe:
      work = transformer_work(model.transformer, shard);
      break;
    case ModelKind::cnn:
      work = cnn_work(model.cnn, shard);
      break;
    case ModelKind::dlrm:
      work = dlrm_work(model.dlrm, shard);
      break;
    case ModelKind::custom:
      work = custom_work(model.custom, shard);
      break;
  }
  work.model_flops_per_sample = model_flops_per_sample(model, training.sequence_length);
  return work;
}
}  // namespace stepcast
