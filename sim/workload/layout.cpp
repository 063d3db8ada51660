#include <algorithm>
#include <array>
#include <map>

#include "sim/core/assert.hpp"
#include "sim/workload/parallel_layout.hpp"

namespace stepcast {
namespace {
int& coordinate(RankCoordinates& at, Axis axis) {
  switch (axis) {
    case Axis::tp:
      return at.tp;
    case Axis::cp:
      return at.cp;
    case Axis::dp:
      return at.dp;
    case Axis::pp:
      break;
  }
  return at.pp;
}
int coordinate(const RankCoordinates& at, Axis axis) {
  RankCoordinates copy = at;
  return coordinate(copy, axis);
}

/// Place of a rank among the ranks of its stage: the rank order without pp. With experts split over
/// tp the tp axis comes first, so that the ranks of one expert are the tensor-parallel ranks
/// whatever the order.
int place_in_stage(const RankCoordinates& at, const ParallelLayout& layout) {
  int place = 0, stride = 1;
  const auto take = [&](Axis axis) {
    place += coordinate(at, axis) * stride;
    stride *= layout.size_of(axis);
  };
  if (layout.expert_tp > 1) take(Axis::tp);
  for (const Axis axis : layout.rank_order)
    if (axis != Axis::pp && !(axis == Axis::tp && layout.expert_tp > 1)) take(axis);
  return place;
}

/// Place of a rank among the ranks with the same dense parameters: its index in the dp group.
int place_in_dp_group(const RankCoordinates& at, const ParallelLayout& layout) {
  int place = 0, stride = 1;
  for (const Axis axis : layout.rank_order) {
    if (axis == Axis::tp || axis == Axis::pp) continue;
    place += coordinate(at, axis) * stride;
    stride *= layout.size_of(axis);
  }
  return place;
}
int shard_group(const ParallelLayout& layout) {
  return layout.shard_size > 0 ? layout.shard_size : layout.dp * layout.cp;
}

using GroupKey = std::array<int, 3>;
/// Ranks with equal keys form a group.
GroupKey key_of(GroupKind kind, const RankCoordinates& at, const ParallelLayout& layout) {
  switch (kind) {
    case GroupKind::tp:
      return {at.cp, at.dp, at.pp};
    case GroupKind::cp:
      return {at.tp, at.dp, at.pp};
    case GroupKind::dp:
      return {at.tp, at.pp, 0};
    case GroupKind::dp_shard:
      return {at.tp, at.pp, place_in_dp_group(at, layout) / shard_group(layout)};
    case GroupKind::dp_replicate:
      return {at.tp, at.pp, place_in_dp_group(at, layout) % shard_group(layout)};
    case GroupKind::pp:
    case GroupKind::embedding:
      return {at.tp, at.cp, at.dp};
    case GroupKind::world:
      return {0, 0, 0};
    case GroupKind::ep: {
      // place = expert tp + expert_tp * (ep + ep_size * edp)
      const int place = place_in_stage(at, layout);
      return {at.pp, place % layout.expert_tp, place / (layout.expert_tp * layout.ep)};
    }
    case GroupKind::edp: {
      const int place = place_in_stage(at, layout);
      return {at.pp, place % layout.expert_tp, place / layout.expert_tp % layout.ep};
    }
  }
  return {};
}
}  // namespace

int ParallelLayout::size_of(Axis axis) const {
  switch (axis) {
    case Axis::tp:
      return tp;
    case Axis::cp:
      return cp;
    case Axis::dp:
      return dp;
    case Axis::pp:
      break;
  }
  return pp;
}

RankCoordinates coordinates_of(int rank, const ParallelLayout& layout) {
  RankCoordinates at;
  for (const Axis axis : layout.rank_order) {
    coordinate(at, axis) = rank % layout.size_of(axis);
    rank /= layout.size_of(axis);
  }
  return at;
}

int rank_of(const RankCoordinates& at, const ParallelLayout& layout) {
  int rank = 0, stride = 1;
  for (const Axis axis : layout.rank_order) {
    rank += coordinate(at, axis) * stride;
    stride *= layout.size_of(axis);
  }
  return rank;
}

std::vector<std::vector<int>> groups_of(GroupKind kind, const ParallelLayout& layout) {
  std::map<GroupKey, std::size_t> index;
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < layout.world(); ++rank) {
    const RankCoordinates at = coordinates_of(rank, layout);
    // The stages between the first and the last share no embedding.
    if (kind == GroupKind::embedding && at.pp != 0 && at.pp != layout.pp - 1) continue;
    const auto [entry, is_new] = index.try_emplace(key_of(kind, at, layout), groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(rank);
  }
  return groups;
}

int group_size(GroupKind kind, const ParallelLayout& layout) {
  switch (kind) {
    case GroupKind::tp:
      return layout.tp;
    case GroupKind::cp:
      return layout.cp;
    case GroupKind::ep:
      return layout.ep;
    case GroupKind::dp:
      return layout.dp * layout.cp;
    case GroupKind::edp:
      return layout.tp * layout.cp * layout.dp / (layout.ep * layout.expert_tp);
    case GroupKind::dp_shard:
      return shard_group(layout);
    case GroupKind::dp_replicate:
      return layout.dp * layout.cp / shard_group(layout);
    case GroupKind::pp:
      return layout.pp;
    case GroupKind::embedding:
      return layout.pp > 1 ? 2 : 1;
    case GroupKind::world:
      break;
  }
  return layout.world();
}

std::int64_t micro_batch_count(const ParallelLayout& layout, const TrainingSpec& training) {
  return training.global_batch / (std::int64_t{layout.dp} * training.micro_batch);
}

LayerRange blocks_of(int stage, int chunk, int blocks, const ParallelLayout& layout) {
  const int chunks = layout.pp * layout.virtual_stages, place = chunk * layout.pp + stage;
  STEPCAST_ASSERT(stage >= 0 && place < chunks, "stage and chunk come from the layout");
  if (!layout.layers_per_stage.empty()) {
    LayerRange range;
    for (int i = 0; i < place; ++i)
      range.first += layout.layers_per_stage[static_cast<std::size_t>(i)];
    range.last = range.first + layout.layers_per_stage[static_cast<std::size_t>(place)];
    return range;
  }
  // The remainder goes to the chunks behind the first: the first has the embedding and the last the
  // head to carry.
  const int each = blocks / chunks, rest = blocks % chunks;
  const auto start = [&](int p) { return p * each + std::clamp(p - 1, 0, rest); };
  return {start(place), start(place + 1)};
}
}  // namespace stepcast
