#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cluster/topologies.hpp"
#include "sim/core/random.hpp"

/// Leaves, spines and, with leaves_per_pod, a core above pods.
///
///        core        core           pod uplinks : core_oversubscription
///       /    \      /    \          .
///     pod ... pod  pod ... pod      spines inside a pod
///    leaf leaf   ...                leaf uplinks : oversubscription
///    |||| ||||                      node ports
///
/// A rail-optimised fabric has one leaf per rail and scalable unit. With a node's NICs folded into
/// one port, those leaves fold into one as well: `nodes_per_leaf` nodes under it, and the sum of
/// the rails' uplinks above it.
namespace stepcast {
namespace {
/// Parallel links that leave one switch, up and down: `paths` of them, of `capacity` each.
struct Bundle {
  LinkId first_up = 0, first_down = 0;
};

class FatTree final : public Topology {
 public:
  explicit FatTree(const ClusterSpec& cluster) : fabric_(cluster.fabric), nodes_(cluster.nodes()) {
    links_ = port_links(cluster);
    const int leaf_count = (nodes_ + fabric_.nodes_per_leaf - 1) / fabric_.nodes_per_leaf;
    if (leaf_count == 1) return;  // one leaf: no traffic leaves it
    const bool hashed = fabric_.routing == Routing::hashed;
    const double oversubscription = fabric_.oversubscription;
    const int default_paths =
        std::max(1, static_cast<int>(std::lround(fabric_.nodes_per_leaf / oversubscription)));
    leaf_paths_ = !hashed                        ? 1
                  : fabric_.uplinks_per_leaf > 0 ? fabric_.uplinks_per_leaf
                                                 : default_paths;
    // A leaf has its full set of uplinks even when the last one has fewer nodes below.
    BytesPerSecond pod_total;
    for (int leaf = 0; leaf < leaf_count; ++leaf) {
      const BytesPerSecond total = mean_port(leaf) * (fabric_.nodes_per_leaf / oversubscription);
      leaves_.push_back(add_bundle(fmt::format("leaf{}", leaf), total, leaf_paths_));
      pod_total = std::max(pod_total, total);
    }
    if (fabric_.leaves_per_pod == 0 || leaf_count <= fabric_.leaves_per_pod) return;
    pod_total = pod_total * (fabric_.leaves_per_pod / fabric_.core_oversubscription);
    pod_paths_ =
        !hashed ? 1
                : std::max(1, static_cast<int>(std::lround(fabric_.leaves_per_pod * leaf_paths_ /
                                                           fabric_.core_oversubscription)));
    const int pod_count = (leaf_count + fabric_.leaves_per_pod - 1) / fabric_.leaves_per_pod;
    for (int pod = 0; pod < pod_count; ++pod)
      pods_.push_back(add_bundle(fmt::format("pod{}", pod), pod_total, pod_paths_));
  }

  void append_route(int a, int b, std::uint64_t flow_hash,
                    std::vector<LinkId>& route) const override {
    route.push_back(tx_port(a));
    if (leaf_of(a) != leaf_of(b)) {
      // The two ends and the core pick by different bits of the hash; inside a pod both leaves meet
      // at one spine.
      const auto spine =
          static_cast<LinkId>(mixed_bits(flow_hash) % static_cast<std::uint64_t>(leaf_paths_));
      LinkId spine_down = spine;
      route.push_back(leaves_[leaf_of(a)].first_up + spine);
      if (crosses_core(a, b)) {
        const auto core =
            static_cast<LinkId>(mixed_bits(flow_hash, 1) % static_cast<std::uint64_t>(pod_paths_));
        route.push_back(pods_[pod_of(a)].first_up + core);
        route.push_back(pods_[pod_of(b)].first_down + core);
        spine_down =
            static_cast<LinkId>(mixed_bits(flow_hash, 2) % static_cast<std::uint64_t>(leaf_paths_));
      }
      route.push_back(leaves_[leaf_of(b)].first_down + spine_down);
    }
    route.push_back(rx_port(b));
  }
  int hops(int a, int b) const override {
    if (a == b) return 0;
    if (leaf_of(a) == leaf_of(b)) return 1;
    return crosses_core(a, b) ? 5 : 3;
  }
  /// Hashed flows may meet on one uplink even at full bisection, so only adaptive routing (or one
  /// leaf) folds exactly.
  bool is_non_blocking() const override {
    if (leaves_.empty()) return true;
    if (fabric_.routing == Routing::hashed || fabric_.oversubscription > 1) return false;
    // A pod's uplinks are its leaves' over core_oversubscription, and those are the node ports'
    // over oversubscription.
    return pods_.empty() || fabric_.core_oversubscription * fabric_.oversubscription <= 1;
  }

 private:
  std::size_t leaf_of(int node) const {
    return static_cast<std::size_t>(node / fabric_.nodes_per_leaf);
  }
  std::size_t pod_of(int node) const {
    return leaf_of(node) / static_cast<std::size_t>(std::max(1, fabric_.leaves_per_pod));
  }
  bool crosses_core(int a, int b) const { return !pods_.empty() && pod_of(a) != pod_of(b); }

  BytesPerSecond mean_port(int leaf) const {
    const int first = leaf * fabric_.nodes_per_leaf,
              last = std::min(nodes_, first + fabric_.nodes_per_leaf);
    BytesPerSecond sum;
    for (int node = first; node < last; ++node) sum += links_[tx_port(node)].capacity;
    return sum / static_cast<double>(last - first);
  }
  Bundle add_bundle(const std::string& name, BytesPerSecond total, int paths) {
    Bundle bundle;
    bundle.first_up = static_cast<LinkId>(links_.size());
    for (int p = 0; p < paths; ++p)
      links_.push_back({fmt::format("{}.up{}", name, p), total / static_cast<double>(paths)});
    bundle.first_down = static_cast<LinkId>(links_.size());
    for (int p = 0; p < paths; ++p)
      links_.push_back({fmt::format("{}.down{}", name, p), total / static_cast<double>(paths)});
    return bundle;
  }

  FabricSpec fabric_;
  int nodes_;
  int leaf_paths_ = 1, pod_paths_ = 1;
  std::vector<Bundle> leaves_, pods_;
};
}  // namespace

std::unique_ptr<Topology> make_fat_tree(const ClusterSpec& cluster) {
  return std::make_unique<FatTree>(cluster);
}
}  // namespace stepcast
