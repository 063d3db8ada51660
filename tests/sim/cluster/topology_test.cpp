#include "sim/cluster/topology.hpp"

#include <algorithm>
#include <set>

#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::literals;

namespace {
/// Nodes with 8 NICs of 50 GB/s: a port of 400 GB/s.
ClusterSpec of(int nodes, FabricKind kind) {
  NodeSpec node;
  node.nics = 8;
  node.nic_bandwidth = 50_GBps;
  ClusterSpec cluster;
  cluster.groups = {{node, nodes}};
  cluster.fabric.kind = kind;
  cluster.fabric.nodes_per_leaf = 4;
  return cluster;
}
std::vector<LinkId> route(const Topology& topology, int a, int b, std::uint64_t hash = 0) {
  std::vector<LinkId> links;
  topology.append_route(a, b, hash, links);
  return links;
}
double capacity_of(const Topology& topology, const std::string& prefix) {
  double sum = 0;
  for (const LinkSpec& link : topology.links())
    if (link.name.rfind(prefix, 0) == 0) sum += link.capacity.value;
  return sum;
}
std::vector<ClusterSpec> every_kind() {
  std::vector<ClusterSpec> all;
  for (const Routing routing : {Routing::adaptive, Routing::hashed}) {
    for (const FabricKind kind : {FabricKind::single_switch, FabricKind::fat_tree,
                                  FabricKind::rail_optimized, FabricKind::dragonfly}) {
      all.push_back(of(24, kind));
      all.back().fabric.routing = routing;
      all.push_back(all.back());
      all.back().fabric.leaves_per_pod = 2;
      all.back().fabric.oversubscription = 2;
    }
    all.push_back(of(24, FabricKind::torus));
    all.back().fabric.torus_shape = {4, 3, 2};
  }
  return all;
}
}  // namespace

TEST_CASE("ports come first and carry the NICs of a node together", "[cluster]") {
  for (const ClusterSpec& cluster : every_kind()) {
    const auto topology = make_topology(cluster);
    for (int node = 0; node < 24; ++node) {
      REQUIRE(topology->links()[topology->tx_port(node)].capacity == 400_GBps);
      REQUIRE(topology->links()[topology->rx_port(node)].capacity == 400_GBps);
      REQUIRE(topology->links()[topology->tx_port(node)].name ==
              "node" + std::to_string(node) + ".tx");
    }
  }
}

TEST_CASE(
    "every route starts at the sender's port and ends at the receiver's and crosses no link twice",
    "[cluster]") {
  for (const ClusterSpec& cluster : every_kind()) {
    const auto topology = make_topology(cluster);
    for (int a = 0; a < 24; ++a)
      for (int b = 0; b < 24; ++b) {
        if (a == b) continue;
        const auto links = route(*topology, a, b, static_cast<std::uint64_t>(31 * a + b));
        REQUIRE(links.front() == topology->tx_port(a));
        REQUIRE(links.back() == topology->rx_port(b));
        REQUIRE(std::set<LinkId>(links.begin(), links.end()).size() == links.size());
        for (const LinkId link : links) REQUIRE(link < topology->links().size());
        // Both ways are equally long.
        REQUIRE(route(*topology, b, a, static_cast<std::uint64_t>(31 * a + b)).size() ==
                links.size());
        REQUIRE(topology->hops(a, b) == topology->hops(b, a));
      }
  }
}

TEST_CASE("a leaf's uplinks carry its node ports divided by the oversubscription", "[cluster]") {
  // 4 nodes x 400 GB/s / 4 = 400 GB/s, whether one pool or hashed over 2 paths.
  ClusterSpec cluster = of(16, FabricKind::rail_optimized);
  cluster.fabric.oversubscription = 4;
  REQUIRE(capacity_of(*make_topology(cluster), "leaf0.up") == Approx(400e9));
  cluster.fabric.routing = Routing::hashed;
  cluster.fabric.uplinks_per_leaf = 2;
  const auto hashed = make_topology(cluster);
  REQUIRE(capacity_of(*hashed, "leaf3.down") == Approx(400e9));
  REQUIRE(capacity_of(*hashed, "leaf0.up1") == Approx(200e9));
}

TEST_CASE("a pod's uplinks carry its leaves' divided by the core oversubscription", "[cluster]") {
  // 2 leaves x 4 nodes x 400 GB/s / 7, the shape of a 1:7 core.
  ClusterSpec cluster = of(24, FabricKind::fat_tree);
  cluster.fabric.leaves_per_pod = 2;
  cluster.fabric.core_oversubscription = 7;
  const auto topology = make_topology(cluster);
  REQUIRE(capacity_of(*topology, "pod0.up") == Approx(3200e9 / 7));
  REQUIRE(topology->hops(0, 3) == 1);
  REQUIRE(topology->hops(0, 4) == 3);
  REQUIRE(topology->hops(0, 8) == 5);
  REQUIRE(route(*topology, 0, 8).size() == 6);  // port, leaf, pod, pod, leaf, port
  REQUIRE_FALSE(topology->is_non_blocking());
}

TEST_CASE("hashed flows use every uplink of a leaf", "[cluster]") {
  ClusterSpec cluster = of(8, FabricKind::fat_tree);
  cluster.fabric.routing = Routing::hashed;
  const auto topology = make_topology(cluster);
  std::set<LinkId> seen;
  for (std::uint64_t flow = 0; flow < 64; ++flow) seen.insert(route(*topology, 0, 5, flow)[1]);
  REQUIRE(seen.size() ==
          4);  // nodes_per_leaf / oversubscription paths; missing one has chance 4 (3/4)^64 = 4e-8
}

TEST_CASE("non-blocking is claimed only where ports alone can be busy", "[cluster]") {
  REQUIRE(make_topology(of(24, FabricKind::single_switch))->is_non_blocking());
  ClusterSpec tree = of(24, FabricKind::rail_optimized);
  REQUIRE(make_topology(tree)->is_non_blocking());
  tree.fabric.oversubscription = 1.5;
  REQUIRE_FALSE(make_topology(tree)->is_non_blocking());
  tree.fabric.nodes_per_leaf = 24;  // all under one leaf
  REQUIRE(make_topology(tree)->is_non_blocking());
  ClusterSpec hashed = of(24, FabricKind::fat_tree);
  hashed.fabric.routing = Routing::hashed;
  REQUIRE_FALSE(make_topology(hashed)->is_non_blocking());
  ClusterSpec torus = of(24, FabricKind::torus);
  torus.fabric.torus_shape = {24};
  REQUIRE_FALSE(make_topology(torus)->is_non_blocking());
}

TEST_CASE("a torus counts the shorter way round in every dimension", "[cluster]") {
  // 4 x 3 x 2, node = x + 4 y + 12 z. 0 -> 3: one step down in x. 0 -> 2: two. 0 -> 8 (y = 2): one
  // step down. 0 -> 23: 1 + 1 + 1.
  ClusterSpec cluster = of(24, FabricKind::torus);
  cluster.fabric.torus_shape = {4, 3, 2};
  const auto topology = make_topology(cluster);
  REQUIRE(topology->hops(0, 3) == 1);
  REQUIRE(topology->hops(0, 2) == 2);
  REQUIRE(topology->hops(0, 8) == 1);
  REQUIRE(topology->hops(0, 23) == 3);
  REQUIRE(route(*topology, 0, 23).size() == 5);  // two ports and three links
  REQUIRE(topology->links()[route(*topology, 0, 3)[1]].name == "node0.dim0.down");
  // One of six links of a 400 GB/s node.
  REQUIRE(topology->links()[route(*topology, 0, 3)[1]].capacity.value == Approx(400e9 / 6));
}

TEST_CASE("a dragonfly group's global links carry its ports divided by the taper", "[cluster]") {
  ClusterSpec cluster = of(12, FabricKind::dragonfly);
  cluster.fabric.oversubscription = 2;
  // 4 nodes x 400 GB/s / 2 leave a group; minimal routing gives each of the two other groups half
  // of it.
  REQUIRE(capacity_of(*make_topology(cluster), "group0.out") == Approx(800e9));
  cluster.fabric.routing = Routing::hashed;
  REQUIRE(capacity_of(*make_topology(cluster), "group0.to1") == Approx(400e9));
}
