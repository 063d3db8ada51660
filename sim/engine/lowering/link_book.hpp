#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/engine/job.hpp"

namespace stepcast {
/// The links a job uses: the topology's, and private ones that keep a group with few of a node's
/// GPUs to its part of the node's NICs. Only links that some route crosses are handed to the
/// engine.
class LinkBook {
 public:
  LinkBook(const Topology& topology, const ClusterSpec& cluster)
      : topology_(topology), cluster_(cluster), all_(topology.links()) {}

  /// Rate of the NICs that `gpus` of a node reach: their share, one NIC at least.
  static BytesPerSecond nic_share(const NodeSpec& node, int gpus);

  /// A private link that caps what `gpus` of `node` send or receive; reuses the link of an equal
  /// `key`. No link is needed, and nothing appended, when they are all of the node's GPUs.
  void append_cap(const std::string& key, int node, int gpus, std::vector<LinkId>& route);
  /// Links of a flow from node a to b. With `ports_only` the switches in between are left out: they
  /// never limit.
  void append_route(int a, int b, std::uint64_t hash, bool ports_only,
                    std::vector<LinkId>& route) const;

  /// Moves the used links into the job and renumbers every route; fills node_ports.
  void hand_over(Job& job) const;

 private:
  const Topology& topology_;
  const ClusterSpec& cluster_;
  std::vector<LinkSpec> all_;
  std::map<std::string, LinkId> caps_;
  std::vector<std::pair<int, LinkId>> cap_nodes_;  // node whose NICs a cap stands for
};
}  // namespace stepcast
