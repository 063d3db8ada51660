// The network replaced: recorded transfers give way to flows over a cluster's links.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/core/result.hpp"
#include "sim/import/replay/what_if.hpp"

namespace stepcast {
namespace {
/// All members of a group of which some are listed: the stride of the listed ones goes on; a single
/// one fills consecutive ranks.
std::vector<int> members_of(const WorkGroup& group, int size) {
  std::vector<int> ranks = group.ranks;
  std::sort(ranks.begin(), ranks.end());
  const int stride = ranks.size() > 1 ? std::max(1, ranks[1] - ranks[0]) : 1;
  if (static_cast<int>(ranks.size()) < size) {
    const int first = ranks.size() > 1 ? ranks.front() : 0;
    ranks.clear();
    for (int i = 0; i < size; ++i) ranks.push_back(first + i * stride);
  }
  return ranks;
}

class ClusterTransport : public Transport {
 public:
  ClusterTransport(const ClusterSpec& cluster, const CollectiveProfile& profile)
      : cluster_(cluster),
        model_(profile, cluster.node(0), cluster.fabric),
        topology_(make_topology(cluster)) {}

  bool carry(const Workload& w, const WorkOp& o, int rank, Network& network,
             std::function<void()> done) override {
    if (o.bytes <= 0) return false;
    if (links_of_ != &network) {  // one network a replay
      links_.clear();
      for (const LinkSpec& link : topology_->links())
        links_.push_back(network.link(link.name, link.capacity.value));
      links_of_ = &network;
    }
    std::vector<int> nodes;  // of the members, in rank order
    GroupShape shape;
    if (o.kind == WorkKind::collective) {
      const WorkGroup& group = w.groups[static_cast<std::size_t>(o.group)];
      const int size = std::max<int>(group.size, static_cast<int>(group.ranks.size()));
      for (const int r : members_of(group, size)) nodes.push_back(node_of(r));
      shape.ranks = size;
    } else {
      nodes = {node_of(rank), node_of(o.peer)};
      if (o.kind == WorkKind::recv) std::swap(nodes[0], nodes[1]);
      shape.ranks = 2;
    }
    std::vector<int> distinct = nodes;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    shape.nodes = static_cast<int>(distinct.size());
    for (const int node : distinct)
      shape.ranks_per_node = std::max(
          shape.ranks_per_node, static_cast<int>(std::count(nodes.begin(), nodes.end(), node)));
    for (const int node : distinct)
      shape.max_hops = std::max(
          shape.max_hops, node == distinct.front() ? 0 : topology_->hops(distinct.front(), node));
    const Collective collective =
        o.kind == WorkKind::collective ? o.collective : Collective::send_recv;
    const CollectiveTerms terms = model_.terms(collective, Bytes(o.bytes), shape);

    auto open = std::make_shared<std::size_t>(1);
    const auto one_done = [open, done] {
      if (--*open == 0) done();
    };
    const double startup = terms.startup.value;
    network.after(startup + terms.intra.value, one_done);
    if (shape.nodes < 2 || terms.edge_bytes <= 0) return true;
    const auto add_edge = [&](int a, int b) {
      std::vector<LinkId> route, mine;
      topology_->append_route(a, b, static_cast<std::uint64_t>(o.match), route);
      for (const LinkId id : route) mine.push_back(links_[id]);
      ++*open;
      network.after(startup, [&network, mine, bytes = terms.edge_bytes, one_done] {
        network.start_flow(mine, bytes, one_done);
      });
    };
    if (terms.pattern == CollectiveTerms::Pattern::pair || shape.nodes == 2) {
      add_edge(distinct[0], distinct[1]);
      if (terms.pattern != CollectiveTerms::Pattern::pair) add_edge(distinct[1], distinct[0]);
    } else if (terms.pattern == CollectiveTerms::Pattern::all_pairs) {
      for (const int a : distinct)
        for (const int b : distinct)
          if (a != b) add_edge(a, b);
    } else {  // ring, tree and in-network reduction load each node's port once each way
      for (std::size_t i = 0; i < distinct.size(); ++i)
        add_edge(distinct[i], distinct[(i + 1) % distinct.size()]);
    }
    return true;
  }

 private:
  int node_of(int rank) const {
    int node = 0;
    for (int left = std::max(rank, 0);
         node + 1 < cluster_.nodes() && left >= cluster_.node(node).gpus;
         ++node, left -= cluster_.node(node - 1).gpus) {
    }
    return node;
  }
  ClusterSpec cluster_;
  CollectiveModel model_;
  std::unique_ptr<Topology> topology_;
  std::vector<LinkId> links_;
  const Network* links_of_ = nullptr;
};
}  // namespace

std::unique_ptr<Transport> cluster_transport(const Workload& workload, const ClusterSpec& cluster,
                                             const CollectiveProfile& profile) {
  std::int64_t gpus = 0, needed = 0;
  for (int node = 0; node < cluster.nodes(); ++node) gpus += cluster.node(node).gpus;
  for (const WorkGroup& group : workload.groups) {
    const auto members =
        members_of(group, std::max<int>(group.size, static_cast<int>(group.ranks.size())));
    if (!members.empty()) needed = std::max<std::int64_t>(needed, members.back() + 1);
  }
  for (const WorkRank& rank : workload.ranks)
    needed = std::max<std::int64_t>(needed, rank.rank + 1);
  if (needed > gpus)
    throw InputError(Problem{
        "--cluster", "", fmt::format("has {} GPUs, the workload's ranks need {}", gpus, needed),
        fmt::format("--nodes {}", (needed + cluster.node(0).gpus - 1) / cluster.node(0).gpus)});
  return std::make_unique<ClusterTransport>(cluster, profile);
}
}  // namespace stepcast
