#include "sim/engine/lowering/process_groups.hpp"

#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
struct Fixture {
  Fixture(int nodes, ParallelLayout l)
      : layout(l),
        cluster(test::small_cluster(nodes)),
        topology(make_topology(cluster)),
        placement(place_ranks(cluster, layout.world(), 1)),
        blocks(lockstep_blocks(layout)) {}
  std::vector<ProcessGroup> groups(GroupKind kind) const {
    return process_groups(kind, layout, placement, blocks, *topology, 1);
  }
  ParallelLayout layout;
  ClusterSpec cluster;
  std::unique_ptr<Topology> topology;
  Placement placement;
  Blocks blocks;
};
double out_of(const ProcessGroup& group, int node) {
  double sum = 0;
  for (const auto& [ends, weight] : group.edges) sum += ends.first == node ? weight : 0;
  return sum;
}
}  // namespace

TEST_CASE("the data-parallel rings of a node's tensor ranks merge into one edge per node pair",
          "[lowering]") {
  ParallelLayout layout;
  layout.tp = 8;
  layout.dp = 4;
  const std::vector<ProcessGroup> groups = Fixture(4, layout).groups(GroupKind::dp);
  REQUIRE(groups.size() == 1);
  REQUIRE(groups[0].edges ==
          std::map<NodePair, double>{{{0, 1}, 8}, {{1, 2}, 8}, {{2, 3}, 8}, {{3, 0}, 8}});
  REQUIRE(groups[0].shape.ranks == 4);
  REQUIRE(groups[0].shape.ranks_per_node == 1);
  REQUIRE(groups[0].gpus_on_node.at(2) == 8);
}

TEST_CASE("a ring over all GPUs of two nodes crosses once each way", "[lowering]") {
  ParallelLayout layout;
  layout.dp = 16;
  const std::vector<ProcessGroup> groups = Fixture(2, layout).groups(GroupKind::dp);
  REQUIRE(groups[0].edges == std::map<NodePair, double>{{{0, 1}, 1}, {{1, 0}, 1}});
  REQUIRE(groups[0].shape.ranks_per_node == 8);
}

TEST_CASE("an all-to-all sends one share to every node and many nodes are reached by shifts",
          "[lowering]") {
  const ClusterSpec cluster = test::small_cluster(100);
  const std::unique_ptr<Topology> topology = make_topology(cluster);
  const Placement placement = place_ranks(cluster, 800, 1);
  for (int nodes : {2, 5, 64, 65, 100}) {
    std::vector<int> ranks;
    for (int rank = 0; rank < nodes * 8; ++rank) ranks.push_back(rank);
    ProcessGroup group;
    add_sibling(group, ranks, placement, EdgePattern::all_pairs, *topology, 7);
    for (int node = 0; node < nodes; ++node) REQUIRE(out_of(group, node) == Approx(1));
    REQUIRE(group.edges.size() ==
            static_cast<std::size_t>(nodes <= 64 ? nodes * (nodes - 1) : nodes * 8));
  }
}

TEST_CASE("hybrid sharding cuts the replicas into runs and strides", "[lowering]") {
  ParallelLayout layout;
  layout.dp = 32;
  layout.zero_stage = 3;
  layout.shard_size = 16;
  const Fixture fixture(4, layout);
  const std::vector<ProcessGroup> shards = fixture.groups(GroupKind::dp_shard),
                                  across = fixture.groups(GroupKind::dp_replicate);
  REQUIRE(shards.size() == 2);
  REQUIRE(shards[1].shape.ranks == 16);
  REQUIRE(shards[1].shape.nodes == 2);
  REQUIRE(across.size() == 16);
  REQUIRE(across[3].blocks == std::vector<int>{3, 19});
}

TEST_CASE("messages between stages follow the rank pairs", "[lowering]") {
  ParallelLayout layout;
  layout.tp = 8;
  layout.pp = 2;
  layout.dp = 2;
  const Fixture fixture(4, layout);
  const std::vector<MessagePath> paths =
      message_paths(layout, fixture.placement, fixture.blocks, *fixture.topology);
  REQUIRE(paths.size() == 4);  // two replicas, both directions
  REQUIRE(paths[0].edges == std::map<NodePair, double>{{{0, 2}, 8}});
  REQUIRE(paths[0].shape.nodes == 2);
}

TEST_CASE("stages on one node exchange messages without the network", "[lowering]") {
  ParallelLayout layout;
  layout.tp = 4;
  layout.pp = 2;
  const Fixture fixture(1, layout);
  for (const MessagePath& path :
       message_paths(layout, fixture.placement, fixture.blocks, *fixture.topology)) {
    REQUIRE(path.edges.empty());
    REQUIRE(path.shape.nodes == 1);
  }
}
