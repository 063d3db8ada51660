#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/workload/model_spec.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast {
enum class ScheduleKind { gpipe, one_f_one_b, interleaved, zero_bubble };
template <>
struct EnumText<ScheduleKind> {
  static constexpr std::array<std::pair<ScheduleKind, std::string_view>, 4> table{
      {{ScheduleKind::gpipe, "gpipe"},
       {ScheduleKind::one_f_one_b, "1f1b"},
       {ScheduleKind::interleaved, "interleaved"},
       {ScheduleKind::zero_bubble, "zero-bubble"}}};
};
enum class ContextKind { ring, all_to_all };
template <>
struct EnumText<ContextKind> {
  static constexpr std::array<std::pair<ContextKind, std::string_view>, 2> table{
      {{ContextKind::ring, "ring"}, {ContextKind::all_to_all, "all-to-all"}}};
};
/// Axes of the rank order, fastest first. ep is not an axis of its own: expert groups are runs of
/// ep consecutive ranks among the ranks of one stage in this order (Megatron's "tp-cp-ep-dp-pp" is
/// written tp-cp-dp-pp).
enum class Axis { tp, cp, dp, pp };

struct RankCoordinates {
  int tp = 0, cp = 0, dp = 0, pp = 0;
};

struct ParallelLayout {
  int tp = 1, pp = 1, dp = 1, cp = 1, ep = 1;
  int expert_tp = 1;  // tensor parallel size inside an expert; 1 or tp
  bool sequence_parallel = false;
  int zero_stage = 0;  // 0 plain data parallel, 1 optimizer, 2 + gradients, 3 + parameters (FSDP)
  /// Ranks over which ZeRO shards (HSDP); 0 = the whole dp group.
  int shard_size = 0;
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  int virtual_stages = 1;
  ContextKind context = ContextKind::ring;
  std::vector<int> layers_per_stage;  // blocks of each (stage, chunk), pipeline order; empty = even
  std::vector<Axis> rank_order{Axis::tp, Axis::cp, Axis::dp, Axis::pp};

  int world() const { return tp * pp * dp * cp; }
  int size_of(Axis axis) const;
};

/// Reads "parallel". dp = 0 in the result when it was left out (set it from the world size).
/// Accepts ep inside rank_order text ("tp-cp-ep-dp-pp") and ignores its position.
ParallelLayout read_layout(ObjectReader reader);

/// Rank <-> coordinates; both are inverse to each other for every rank_order.
RankCoordinates coordinates_of(int rank, const ParallelLayout& layout);
int rank_of(const RankCoordinates& at, const ParallelLayout& layout);

/// The ranks of every group of a kind, each in ring order; groups sorted by first rank. dp spans dp
/// x cp. dp_shard: runs of shard_size members of a dp group; dp_replicate: the members at the same
/// place of every run. Sizes: tp, cp, ep, dp*cp, edp = tp*cp*dp / (ep*expert_tp), pp; embedding:
/// {first stage, last stage} pairs.
std::vector<std::vector<int>> groups_of(GroupKind kind, const ParallelLayout& layout);
int group_size(GroupKind kind, const ParallelLayout& layout);

/// Every reason why the layout cannot run this model and batch on `world` ranks (0 = unchecked),
/// each with what is near: tp not dividing heads, pp over layers, world mismatch, batch not
/// divisible, virtual stages without interleaving ...
void check_layout(const ParallelLayout& layout, const ModelSpec& model,
                  const TrainingSpec& training, int world, const std::string& file,
                  Problems& problems);

/// Micro-batches each pipeline runs per step = global_batch / (dp * micro_batch).
std::int64_t micro_batch_count(const ParallelLayout& layout, const TrainingSpec& training);
/// First and one-past-last block of pipeline chunk (stage, virtual stage), by layers_per_stage or
/// as even as possible.
struct LayerRange {
  int first = 0, last = 0;
};
LayerRange blocks_of(int stage, int chunk, int blocks, const ParallelLayout& layout);
}  // namespace stepcast
