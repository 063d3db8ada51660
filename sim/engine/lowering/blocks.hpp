#pragma once
#include <vector>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/workload/parallel_layout.hpp"

namespace stepcast {
/// Where every rank sits: ranks fill the nodes in placement order.
struct Placement {
  std::vector<int> node;  // physical node by rank
};
Placement place_ranks(const ClusterSpec& cluster, int world, std::uint64_t seed);

/// Ranks of one stage that a tensor, context or expert collective ties together within every layer,
/// so that they move in lockstep and can be simulated as one worker. With experts a block holds
/// every replica that shares an expert group.
struct Block {
  int stage = 0;
  int replica = 0;  // the same number in every stage: blocks that pass messages to each other
  std::vector<int> ranks;  // ascending
};
struct Blocks {
  std::vector<Block> list;   // by stage, then replica
  std::vector<int> of_rank;  // index into list
  int replicas = 1;
  const Block& at(int stage, int replica) const {
    return list[static_cast<std::size_t>(stage * replicas + replica)];
  }
};
Blocks lockstep_blocks(const ParallelLayout& layout);
}  // namespace stepcast
