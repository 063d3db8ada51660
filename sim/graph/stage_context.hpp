#pragma once
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/schedule/schedule.hpp"

namespace stepcast {
/// What every part of a stage's program asks about the stage: its layers, its neighbours, its
/// schedule.
class StageContext {
 public:
  StageContext(const Scenario& scenario, const ModelWork& model, int stage,
               const BucketPlan* plan = nullptr);

  const Scenario& scenario() const { return scenario_; }
  const ModelWork& model() const { return model_; }
  const ParallelLayout& layout() const { return scenario_.parallel; }
  int stage() const { return stage_; }
  int chunks() const { return scenario_.parallel.virtual_stages; }
  bool is_first_stage() const { return stage_ == 0; }
  bool is_last_stage() const { return stage_ == scenario_.parallel.pp - 1; }

  /// Kinds of the layers of a chunk in forward order, embedding and head included on the edge
  /// stages.
  const std::vector<int>& layers_of(int chunk) const {
    return layers_[static_cast<std::size_t>(chunk)];
  }
  const LayerWork& kind(int index) const { return model_.kinds[static_cast<std::size_t>(index)]; }
  const std::vector<Work>& schedule() const { return schedule_; }
  /// Index in schedule() of the last backward (zero-bubble: backward_weight) of each chunk.
  bool is_last_backward_of_chunk(std::size_t schedule_index) const;

  /// Activation that leaves pipeline position chunk * pp + stage, per rank.
  Bytes boundary_bytes(int position) const;

  std::int64_t dense_parameters() const { return dense_parameters_; }
  std::int64_t expert_parameters() const { return expert_parameters_; }
  std::int64_t gradient_element_bytes() const;
  /// Parameters are gathered in the compute precision; fp8 and int8 copies are made from a 16-bit
  /// gather.
  std::int64_t parameter_element_bytes() const;
  /// Ranks over which parameters of a group kind are sharded under ZeRO (dp_shard size under HSDP).
  int shard_ranks(GroupKind replicas) const;
  /// The group that ZeRO scatters over: dp_shard under HSDP, else the replicas' own.
  GroupKind shard_group(GroupKind replicas) const;
  bool is_hybrid_sharded() const;
  /// Buckets that were planned; null where the strategy's sizes make them.
  const BucketPlan* plan() const { return plan_; }

 private:
  const Scenario& scenario_;
  const ModelWork& model_;
  int stage_;
  const BucketPlan* plan_;
  std::vector<std::vector<int>> layers_;
  std::vector<Work> schedule_;
  std::vector<std::size_t> last_backward_;  // per chunk
  std::int64_t dense_parameters_ = 0, expert_parameters_ = 0;
};
/// Kinds of the layers at one pipeline position.
std::vector<int> layers_at(const Scenario& scenario, const ModelWork& model, int stage, int chunk);
}  // namespace stepcast
