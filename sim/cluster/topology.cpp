#include "sim/cluster/topology.hpp"

#include <fmt/format.h>

#include "sim/cluster/topologies.hpp"

namespace stepcast {
BytesPerSecond port_rate(const NodeSpec& node) {
  return node.nic_bandwidth * static_cast<double>(node.nics);
}

std::vector<LinkSpec> port_links(const ClusterSpec& cluster) {
  std::vector<LinkSpec> links;
  int index = 0;
  for (const NodeGroup& group : cluster.groups)
    for (int i = 0; i < group.count; ++i, ++index) {
      links.push_back({fmt::format("node{}.tx", index), port_rate(group.spec)});
      links.push_back({fmt::format("node{}.rx", index), port_rate(group.spec)});
    }
  return links;
}

std::unique_ptr<Topology> make_topology(const ClusterSpec& cluster) {
  switch (cluster.fabric.kind) {
    case FabricKind::none:
    case FabricKind::single_switch:
      return make_single_switch(cluster);
    case FabricKind::fat_tree:
    case FabricKind::rail_optimized:
      return make_fat_tree(cluster);
    case FabricKind::dragonfly:
      return make_dragonfly(cluster);
    case FabricKind::torus:
      return make_torus(cluster);
  }
  return make_single_switch(cluster);
}
}  // namespace stepcast
