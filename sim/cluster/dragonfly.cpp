#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/topologies.hpp"

/// Groups of `nodes_per_leaf` nodes, full bandwidth inside a group, and global links between every
/// pair of groups. `oversubscription` is the taper: node ports of a group : its global links (1 on
/// a full machine; Frontier's 57 % is 1.75). Adaptive routing may detour through a third group, so
/// a group's global links act as one pool each way; hashed stands for minimal routing, where a pair
/// of groups has only its own link, 1/(groups - 1) of the pool. Source: Kim, Dally, Scott, Abts,
/// "Technology-driven, highly-scalable dragonfly topology", ISCA 2008.
namespace stepcast {
namespace {
class Dragonfly final : public Topology {
 public:
  explicit Dragonfly(const ClusterSpec& cluster) : fabric_(cluster.fabric) {
    links_ = port_links(cluster);
    const int nodes = cluster.nodes();
    groups_ = (nodes + fabric_.nodes_per_leaf - 1) / fabric_.nodes_per_leaf;
    if (groups_ == 1) return;
    first_global_ = static_cast<LinkId>(links_.size());
    for (int group = 0; group < groups_; ++group) {
      const int first = group * fabric_.nodes_per_leaf,
                last = std::min(nodes, first + fabric_.nodes_per_leaf);
      BytesPerSecond ports;
      for (int node = first; node < last; ++node) ports += links_[tx_port(node)].capacity;
      // The group has all its global links even when the job's last group is not full.
      const BytesPerSecond pool = ports * (static_cast<double>(fabric_.nodes_per_leaf) /
                                           (last - first) / fabric_.oversubscription);
      if (fabric_.routing == Routing::adaptive) {
        links_.push_back({fmt::format("group{}.out", group), pool});
        links_.push_back({fmt::format("group{}.in", group), pool});
      } else {
        for (int other = 0; other < groups_;
             ++other)  // the entry to itself keeps the index plain; no route uses it
          links_.push_back(
              {fmt::format("group{}.to{}", group, other), pool / static_cast<double>(groups_ - 1)});
      }
    }
  }

  void append_route(int a, int b, std::uint64_t, std::vector<LinkId>& route) const override {
    route.push_back(tx_port(a));
    const int from = group_of(a), to = group_of(b);
    if (from != to) {
      if (fabric_.routing == Routing::adaptive) {
        route.push_back(first_global_ + static_cast<LinkId>(2 * from));
        route.push_back(first_global_ + static_cast<LinkId>(2 * to + 1));
      } else {
        route.push_back(first_global_ + static_cast<LinkId>(from * groups_ + to));
      }
    }
    route.push_back(rx_port(b));
  }
  /// Two routers inside a group; local, global, local between groups, and one more for detours.
  int hops(int a, int b) const override { return a == b ? 0 : group_of(a) == group_of(b) ? 2 : 4; }
  bool is_non_blocking() const override {
    return groups_ == 1 || (fabric_.routing == Routing::adaptive && fabric_.oversubscription <= 1);
  }

 private:
  int group_of(int node) const { return node / fabric_.nodes_per_leaf; }
  FabricSpec fabric_;
  int groups_ = 1;
  LinkId first_global_ = 0;
};
}  // namespace

std::unique_ptr<Topology> make_dragonfly(const ClusterSpec& cluster) {
  return std::make_unique<Dragonfly>(cluster);
}
}  // namespace stepcast
