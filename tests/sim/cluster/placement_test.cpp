#include <algorithm>

#include "sim/cluster/cluster_spec.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
ClusterSpec of(int nodes, PlacementKind placement, int nodes_per_leaf) {
  ClusterSpec cluster;
  cluster.groups = {{NodeSpec{}, nodes}};
  cluster.placement = placement;
  cluster.fabric.nodes_per_leaf = nodes_per_leaf;
  return cluster;
}
}  // namespace

TEST_CASE("every placement is a permutation of the nodes", "[cluster]") {
  for (const PlacementKind kind :
       {PlacementKind::linear, PlacementKind::random, PlacementKind::strided})
    for (const int nodes : {1, 2, 7, 64, 100}) {
      std::vector<int> placed = placed_nodes(of(nodes, kind, 16), 5);
      std::sort(placed.begin(), placed.end());
      REQUIRE(static_cast<int>(placed.size()) == nodes);
      for (int i = 0; i < nodes; ++i) REQUIRE(placed[static_cast<std::size_t>(i)] == i);
    }
}

TEST_CASE("a random placement repeats with its seed and differs with another", "[cluster]") {
  const ClusterSpec cluster = of(64, PlacementKind::random, 16);
  REQUIRE(placed_nodes(cluster, 1) == placed_nodes(cluster, 1));
  REQUIRE(placed_nodes(cluster, 1) != placed_nodes(cluster, 2));
}

TEST_CASE("strided placement puts neighbours on different leaves", "[cluster]") {
  // 6 nodes, 2 per leaf: leaves {0,1} {2,3} {4,5}; first of each, then second of each.
  REQUIRE(placed_nodes(of(6, PlacementKind::strided, 2), 0) == std::vector<int>{0, 2, 4, 1, 3, 5});
}
