#include "sim/graph/stage_context.hpp"

#include <algorithm>

#include "sim/core/assert.hpp"

namespace stepcast {

std::vector<int> layers_at(const Scenario& scenario, const ModelWork& model, int stage, int chunk) {
  const ParallelLayout& layout = scenario.parallel;
  std::vector<int> layers;
  if (stage == 0 && chunk == 0) layers = model.before;
  const LayerRange range = blocks_of(stage, chunk, static_cast<int>(model.blocks.size()), layout);
  layers.insert(layers.end(), model.blocks.begin() + range.first,
                model.blocks.begin() + range.last);
  if (stage == layout.pp - 1 && chunk == layout.virtual_stages - 1)
    layers.insert(layers.end(), model.after.begin(), model.after.end());
  return layers;
}

StageContext::StageContext(const Scenario& scenario, const ModelWork& model, int stage,
                           const BucketPlan* plan)
    : scenario_(scenario), model_(model), stage_(stage), plan_(plan) {
  const ParallelLayout& layout = scenario.parallel;
  for (int chunk = 0; chunk < layout.virtual_stages; ++chunk) {
    layers_.push_back(layers_at(scenario, model, stage, chunk));
    for (int layer : layers_.back()) {
      dense_parameters_ += kind(layer).dense_parameters;
      expert_parameters_ += kind(layer).expert_parameters;
    }
  }
  const std::int64_t micro_batches = micro_batch_count(layout, scenario.training);
  schedule_ = schedule_work(layout.schedule, stage, layout.pp, static_cast<int>(micro_batches),
                            layout.virtual_stages);
  last_backward_.assign(static_cast<std::size_t>(layout.virtual_stages), 0);
  for (std::size_t i = 0; i < schedule_.size(); ++i) {
    const Work::Kind kind_of_work = schedule_[i].kind;
    if (kind_of_work == Work::Kind::backward || kind_of_work == Work::Kind::backward_weight)
      last_backward_[static_cast<std::size_t>(schedule_[i].chunk)] = i;
  }
}

bool StageContext::is_last_backward_of_chunk(std::size_t schedule_index) const {
  return last_backward_[static_cast<std::size_t>(schedule_[schedule_index].chunk)] ==
         schedule_index;
}

Bytes StageContext::boundary_bytes(int position) const {
  const int pp = scenario_.parallel.pp;
  // A chunk without layers hands on what it was given.
  for (int at = position; at >= 0; --at) {
    const std::vector<int> layers = layers_at(scenario_, model_, at % pp, at / pp);
    if (!layers.empty()) return kind(layers.back()).output;
  }
  return Bytes(0);
}

std::int64_t StageContext::gradient_element_bytes() const {
  return bytes_per_element(scenario_.training.gradient_precision);
}
std::int64_t StageContext::parameter_element_bytes() const {
  return std::max<std::int64_t>(2, bytes_per_element(scenario_.training.precision));
}

bool StageContext::is_hybrid_sharded() const {
  const ParallelLayout& layout = scenario_.parallel;
  return layout.zero_stage > 0 && layout.shard_size > 0 &&
         layout.shard_size < group_size(GroupKind::dp, layout);
}
int StageContext::shard_ranks(GroupKind replicas) const {
  if (replicas == GroupKind::dp && is_hybrid_sharded()) return scenario_.parallel.shard_size;
  return group_size(replicas, scenario_.parallel);
}
GroupKind StageContext::shard_group(GroupKind replicas) const {
  return replicas == GroupKind::dp && is_hybrid_sharded() ? GroupKind::dp_shard : replicas;
}
}  // namespace stepcast
