#include "sim/cluster/cluster_spec.hpp"

#include <numeric>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"

namespace stepcast {
int ClusterSpec::nodes() const {
  int total = 0;
  for (const NodeGroup& group : groups) total += group.count;
  return total;
}
const NodeSpec& ClusterSpec::node(int index) const {
  for (const NodeGroup& group : groups) {
    if (index < group.count) return group.spec;
    index -= group.count;
  }
  STEPCAST_ASSERT(false, "callers ask for nodes of this cluster");
  return groups.back().spec;
}
int ClusterSpec::gpus() const {
  int total = 0;
  for (const NodeGroup& group : groups) total += group.count * group.spec.gpus;
  return total;
}

std::vector<int> placed_nodes(const ClusterSpec& cluster, std::uint64_t seed) {
  const int n = cluster.nodes();
  std::vector<int> nodes(static_cast<std::size_t>(n));
  std::iota(nodes.begin(), nodes.end(), 0);
  if (cluster.placement == PlacementKind::random) {
    // Fisher-Yates with one hash per swap: the same seed gives the same job on every platform.
    for (int i = n - 1; i > 0; --i) {
      const auto bits = mixed_bits(seed, static_cast<std::uint64_t>(i));
      std::swap(nodes[static_cast<std::size_t>(i)],
                nodes[bits % static_cast<std::uint64_t>(i + 1)]);
    }
  } else if (cluster.placement == PlacementKind::strided) {
    // Neighbours on different leaves: first the first node of every leaf, then the second ...
    nodes.clear();
    const int stride = cluster.fabric.nodes_per_leaf;
    for (int offset = 0; offset < stride; ++offset)
      for (int node = offset; node < n; node += stride) nodes.push_back(node);
  }
  return nodes;
}
}  // namespace stepcast
