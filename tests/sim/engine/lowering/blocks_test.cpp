#include "sim/engine/lowering/blocks.hpp"

#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("ranks that share a tensor or context group are one block", "[lowering]") {
  ParallelLayout layout;
  layout.tp = 2;
  layout.cp = 2;
  layout.dp = 3;
  layout.pp = 2;
  const Blocks blocks = lockstep_blocks(layout);
  REQUIRE(blocks.replicas == 3);
  REQUIRE(blocks.list.size() == 6);
  REQUIRE(blocks.at(0, 0).ranks == std::vector<int>{0, 1, 2, 3});
  REQUIRE(blocks.at(1, 2).ranks == std::vector<int>{20, 21, 22, 23});
  REQUIRE(blocks.of_rank[21] == 5);
}

TEST_CASE("replicas that share experts are one block", "[lowering]") {
  // 8 replicas of tp 2; expert groups are runs of 8 ranks: 4 replicas each.
  ParallelLayout layout;
  layout.tp = 2;
  layout.dp = 8;
  layout.ep = 8;
  const Blocks blocks = lockstep_blocks(layout);
  REQUIRE(blocks.replicas == 2);
  REQUIRE(blocks.at(0, 1).ranks == std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15});
}

TEST_CASE("a replica holds the same coordinates in every stage whatever the rank order",
          "[lowering]") {
  for (const std::vector<Axis>& order : {std::vector{Axis::tp, Axis::cp, Axis::dp, Axis::pp},
                                         std::vector{Axis::pp, Axis::tp, Axis::dp, Axis::cp},
                                         std::vector{Axis::dp, Axis::pp, Axis::cp, Axis::tp}}) {
    ParallelLayout layout;
    layout.tp = 2;
    layout.cp = 2;
    layout.dp = 4;
    layout.pp = 3;
    layout.rank_order = order;
    const Blocks blocks = lockstep_blocks(layout);
    for (int stage = 0; stage < 3; ++stage)
      for (int replica = 0; replica < blocks.replicas; ++replica)
        for (int rank : blocks.at(stage, replica).ranks) {
          RankCoordinates at = coordinates_of(rank, layout);
          REQUIRE(at.pp == stage);
          at.pp = 0;
          REQUIRE(blocks
                      .list[static_cast<std::size_t>(
                          blocks.of_rank[static_cast<std::size_t>(rank_of(at, layout))])]
                      .replica == replica);
        }
  }
}

TEST_CASE("ranks fill nodes in placement order and heterogeneous nodes hold what they have",
          "[lowering]") {
  ClusterSpec cluster = test::small_cluster(2, 4);
  cluster.groups.push_back({cluster.groups[0].spec, 1});
  cluster.groups[1].spec.gpus = 8;
  const Placement placement = place_ranks(cluster, 14, 1);
  REQUIRE(placement.node == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2});
}
