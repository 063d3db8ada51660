#include "sim/engine/lowering/process_groups.hpp"

#include <algorithm>
#include <set>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/engine/lowering/disjoint_sets.hpp"

namespace stepcast {
namespace {
/// Above this many nodes an all-to-all is carried by a few seeded shifts (node i to i + shift) in
/// place of all pairs, so that the number of flows grows with the nodes and not with their square.
/// Every port still carries the same bytes.
constexpr int kExactPairNodes = 64;
constexpr int kShifts = 8;

/// Nodes of the ranks in order of first appearance.
std::vector<int> nodes_in_order(const std::vector<int>& ranks, const Placement& placement) {
  std::vector<int> nodes;
  std::set<int> seen;
  for (int rank : ranks) {
    const int node = placement.node[static_cast<std::size_t>(rank)];
    if (seen.insert(node).second) nodes.push_back(node);
  }
  return nodes;
}
}  // namespace

EdgePattern pattern_of(GroupKind kind, const ParallelLayout& layout) {
  if (kind == GroupKind::ep) return EdgePattern::all_pairs;
  if (kind == GroupKind::cp && layout.context == ContextKind::all_to_all)
    return EdgePattern::all_pairs;
  return EdgePattern::ring;
}

void add_sibling(ProcessGroup& group, const std::vector<int>& ranks, const Placement& placement,
                 EdgePattern pattern, const Topology& topology, std::uint64_t seed) {
  const std::vector<int> nodes = nodes_in_order(ranks, placement);
  std::map<int, int> members;
  for (int rank : ranks) ++members[placement.node[static_cast<std::size_t>(rank)]];
  int most = 0;
  for (const auto& [node, count] : members) {
    group.gpus_on_node[node] += count;
    most = std::max(most, count);
  }
  group.shape.ranks = std::max(group.shape.ranks, static_cast<int>(ranks.size()));
  group.shape.nodes = std::max(group.shape.nodes, static_cast<int>(nodes.size()));
  group.shape.ranks_per_node = std::max(group.shape.ranks_per_node, most);
  const auto n = static_cast<int>(nodes.size());
  if (n < 2) return;
  const auto join = [&](int i, int k, double weight) {
    const int a = nodes[static_cast<std::size_t>(i)], b = nodes[static_cast<std::size_t>(k % n)];
    group.edges[{a, b}] += weight;
    group.shape.max_hops = std::max(group.shape.max_hops, topology.hops(a, b));
  };
  if (pattern == EdgePattern::ring) {
    for (int i = 0; i < n; ++i) join(i, i + 1, 1);
  } else if (n <= kExactPairNodes) {
    for (int shift = 1; shift < n; ++shift)
      for (int i = 0; i < n; ++i) join(i, i + shift, 1.0 / (n - 1));
  } else {
    std::set<int> shifts;
    for (std::uint64_t draw = 0; static_cast<int>(shifts.size()) < kShifts; ++draw)
      shifts.insert(1 +
                    static_cast<int>(mixed_bits(seed, draw) % static_cast<std::uint64_t>(n - 1)));
    for (int shift : shifts)
      for (int i = 0; i < n; ++i) join(i, i + shift, 1.0 / kShifts);
  }
}

std::vector<ProcessGroup> process_groups(GroupKind kind, const ParallelLayout& layout,
                                         const Placement& placement, const Blocks& blocks,
                                         const Topology& topology, std::uint64_t seed) {
  const std::vector<std::vector<int>> siblings = groups_of(kind, layout);
  DisjointSets sets(blocks.list.size());
  const auto block_of = [&](int rank) {
    return static_cast<std::size_t>(blocks.of_rank[static_cast<std::size_t>(rank)]);
  };
  for (const std::vector<int>& ranks : siblings)
    for (int rank : ranks) sets.join(block_of(ranks.front()), block_of(rank));
  std::map<std::size_t, ProcessGroup> by_root;
  std::map<std::size_t, std::set<int>> members;
  for (const std::vector<int>& ranks : siblings) {
    if (ranks.size() < 2) continue;
    const std::size_t root = sets.root(block_of(ranks.front()));
    add_sibling(by_root[root], ranks, placement, pattern_of(kind, layout), topology, seed);
    for (int rank : ranks) members[root].insert(static_cast<int>(block_of(rank)));
  }
  std::vector<ProcessGroup> groups;
  for (auto& [root, group] : by_root) {
    group.kind = kind;
    group.blocks.assign(members[root].begin(), members[root].end());
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<MessagePath> message_paths(const ParallelLayout& layout, const Placement& placement,
                                       const Blocks& blocks, const Topology& topology) {
  std::vector<MessagePath> paths;
  if (layout.pp == 1) return paths;
  std::set<std::pair<int, int>> stages;
  for (int stage = 0; stage < layout.pp; ++stage) {
    if (stage + 1 == layout.pp && layout.virtual_stages == 1) continue;
    const int next = (stage + 1) % layout.pp;
    stages.insert({stage, next});
    stages.insert({next, stage});
  }
  for (const auto& [from, to] : stages)
    for (int replica = 0; replica < blocks.replicas; ++replica) {
      const Block &source = blocks.at(from, replica), &destination = blocks.at(to, replica);
      MessagePath path{
          from * blocks.replicas + replica, to * blocks.replicas + replica, {}, {}, {}, {}};
      path.shape = GroupShape{2, 1, 2, 0};
      for (std::size_t i = 0; i < source.ranks.size(); ++i) {
        RankCoordinates at = coordinates_of(source.ranks[i], layout);
        at.pp = to;
        const int peer = rank_of(at, layout);
        STEPCAST_ASSERT(
            std::binary_search(destination.ranks.begin(), destination.ranks.end(), peer),
            "a replica holds the same coordinates in every stage");
        const int a = placement.node[static_cast<std::size_t>(source.ranks[i])],
                  b = placement.node[static_cast<std::size_t>(peer)];
        if (a == b) continue;
        path.edges[{a, b}] += 1;
        ++path.gpus_on_source[a];
        ++path.gpus_on_destination[b];
        path.shape = GroupShape{2, 2, 1, std::max(path.shape.max_hops, topology.hops(a, b))};
      }
      paths.push_back(std::move(path));
    }
  return paths;
}
}  // namespace stepcast
