#pragma once
#include <memory>

#include "sim/cluster/topology.hpp"

/// The kinds that make_topology chooses from, one .cpp each.
namespace stepcast {
/// Ports of every node: tx and rx links at 2n and 2n + 1, each as wide as the node's NICs together.
std::vector<LinkSpec> port_links(const ClusterSpec& cluster);
/// NICs of a node together, one direction.
BytesPerSecond port_rate(const NodeSpec& node);

std::unique_ptr<Topology> make_single_switch(const ClusterSpec& cluster);
std::unique_ptr<Topology> make_fat_tree(const ClusterSpec& cluster);
std::unique_ptr<Topology> make_dragonfly(const ClusterSpec& cluster);
std::unique_ptr<Topology> make_torus(const ClusterSpec& cluster);
}  // namespace stepcast
