#pragma once
#include <map>
#include <utility>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/collective_model.hpp"
#include "sim/engine/lowering/blocks.hpp"

namespace stepcast {
using NodePair = std::pair<int, int>;

/// Sibling process groups (one per tensor-parallel rank, say) that start together because they join
/// the same blocks, with their traffic merged by pair of nodes.
struct ProcessGroup {
  GroupKind kind = GroupKind::dp;
  std::vector<int> blocks;           // members, ascending
  GroupShape shape;                  // of the largest sibling
  std::map<NodePair, double> edges;  // node -> node: siblings (or shares of them) that send over it
  std::map<int, int> gpus_on_node;   // members per node, all siblings together
};

/// How the members' nodes exchange data; collectives of a kind all use the kind's pattern. A tree
/// or an in-switch reduction loads the ports as a ring of the same bytes does, and is routed as
/// one.
enum class EdgePattern { ring, all_pairs };
EdgePattern pattern_of(GroupKind kind, const ParallelLayout& layout);

/// All groups of a kind, ordered by first block. Groups of one rank are left out.
std::vector<ProcessGroup> process_groups(GroupKind kind, const ParallelLayout& layout,
                                         const Placement& placement, const Blocks& blocks,
                                         const Topology& topology, std::uint64_t seed);
/// Adds one sibling's ranks to a group under a pattern. Exposed for tests and for bare collective
/// runs.
void add_sibling(ProcessGroup& group, const std::vector<int>& ranks, const Placement& placement,
                 EdgePattern pattern, const Topology& topology, std::uint64_t seed);

/// Ranks of two blocks of neighbouring stages that exchange messages.
struct MessagePath {
  int from = 0, to = 0;  // blocks
  GroupShape shape;      // of one rank pair: 1 or 2 nodes
  std::map<NodePair, double> edges;
  std::map<int, int> gpus_on_source, gpus_on_destination;
};
/// Both directions between every stage and the stages it talks to.
std::vector<MessagePath> message_paths(const ParallelLayout& layout, const Placement& placement,
                                       const Blocks& blocks, const Topology& topology);
}  // namespace stepcast
