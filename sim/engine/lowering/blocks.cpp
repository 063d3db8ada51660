#include "sim/engine/lowering/blocks.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/core/assert.hpp"
#include "sim/engine/lowering/disjoint_sets.hpp"

namespace stepcast {

Placement place_ranks(const ClusterSpec& cluster, int world, std::uint64_t seed) {
  STEPCAST_ASSERT(world <= cluster.gpus(),
                  "loading a scenario refuses layouts larger than the cluster");
  Placement placement;
  placement.node.reserve(static_cast<std::size_t>(world));
  for (int node : placed_nodes(cluster, seed))
    for (int gpu = 0;
         gpu < cluster.node(node).gpus && static_cast<int>(placement.node.size()) < world; ++gpu)
      placement.node.push_back(node);
  return placement;
}

Blocks lockstep_blocks(const ParallelLayout& layout) {
  const int world = layout.world();
  DisjointSets sets(static_cast<std::size_t>(world));
  std::vector<GroupKind> kinds{GroupKind::tp, GroupKind::cp};
  if (layout.ep > 1) kinds.push_back(GroupKind::ep);
  for (GroupKind kind : kinds)
    for (const std::vector<int>& group : groups_of(kind, layout))
      for (int rank : group)
        sets.join(static_cast<std::size_t>(group.front()), static_cast<std::size_t>(rank));

  std::map<std::size_t, Block> by_root;
  for (int rank = 0; rank < world; ++rank) {
    Block& block = by_root[sets.root(static_cast<std::size_t>(rank))];
    block.stage = coordinates_of(rank, layout).pp;
    block.ranks.push_back(rank);
  }
  Blocks blocks;
  for (auto& [root, block] : by_root) blocks.list.push_back(std::move(block));
  std::sort(blocks.list.begin(), blocks.list.end(), [](const Block& a, const Block& b) {
    return a.stage != b.stage ? a.stage < b.stage : a.ranks.front() < b.ranks.front();
  });
  // A stage's ranks are another stage's shifted along the pp axis, so the n-th block of every stage
  // is the same replica.
  blocks.replicas = static_cast<int>(blocks.list.size()) / layout.pp;
  blocks.of_rank.assign(static_cast<std::size_t>(world), 0);
  for (std::size_t i = 0; i < blocks.list.size(); ++i) {
    blocks.list[i].replica = static_cast<int>(i) % blocks.replicas;
    for (int rank : blocks.list[i].ranks)
      blocks.of_rank[static_cast<std::size_t>(rank)] = static_cast<int>(i);
  }
  return blocks;
}
}  // namespace stepcast
