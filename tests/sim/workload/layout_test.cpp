#include <algorithm>

#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
/// Every (tp, pp, dp, cp) with product `world`, in every rank order.
template <class Visit>
void each_factoring(int world, Visit visit) {
  for (int tp = 1; tp <= world; ++tp)
    for (int pp = 1; tp * pp <= world; ++pp)
      for (int dp = 1; tp * pp * dp <= world; ++dp) {
        if (world % (tp * pp * dp) != 0) continue;
        ParallelLayout l;
        l.tp = tp, l.pp = pp, l.dp = dp, l.cp = world / (tp * pp * dp);
        do visit(l);
        while (std::next_permutation(l.rank_order.begin(), l.rank_order.end()));
      }
}
}  // namespace

TEST_CASE("rank coordinates round-trip for every factoring and rank order", "[layout]") {
  for (const int world : {1, 6, 16})
    each_factoring(world, [&](const ParallelLayout& l) {
      for (int rank = 0; rank < world; ++rank) {
        const RankCoordinates at = coordinates_of(rank, l);
        if (at.tp >= l.tp || at.cp >= l.cp || at.dp >= l.dp || at.pp >= l.pp ||
            rank_of(at, l) != rank)
          FAIL("rank " << rank);
      }
    });
}

TEST_CASE("groups of every kind partition the ranks into equal parts", "[layout]") {
  for (const int world : {1, 6, 16})
    each_factoring(world, [&](const ParallelLayout& given) {
      ParallelLayout l = given;
      const int stage = l.tp * l.cp * l.dp;
      for (l.ep = 1; l.ep <= stage; ++l.ep)
        for (const int expert_tp : {1, l.tp}) {
          l.expert_tp = expert_tp;
          l.shard_size = l.dp;  // divides dp x cp
          if (stage % (l.ep * expert_tp) != 0) continue;
          for (const auto& entry : EnumText<GroupKind>::table) {
            const GroupKind kind = entry.first;
            const auto groups = groups_of(kind, l);
            std::vector<int> all;
            int first = -1;
            for (const auto& group : groups) {
              if (static_cast<int>(group.size()) != group_size(kind, l))
                FAIL("size of " << text_of(kind));
              if (group.front() <= first) FAIL("order of " << text_of(kind));
              first = group.front();
              for (const int rank : group) all.push_back(rank);
            }
            std::sort(all.begin(), all.end());
            if (std::adjacent_find(all.begin(), all.end()) != all.end())
              FAIL("overlap in " << text_of(kind));
            const int expected = kind == GroupKind::embedding && l.pp > 1 ? 2 * stage : world;
            if (static_cast<int>(all.size()) != expected) FAIL("members of " << text_of(kind));
          }
        }
    });
}

TEST_CASE("Megatron's order puts tensor ranks side by side and pipeline stages farthest apart",
          "[layout]") {
  const ParallelLayout l =
      layout(R"({"tp": 2, "cp": 1, "dp": 4, "pp": 2, "ep": 2, "rank_order": "tp-cp-ep-dp-pp"})");
  REQUIRE(groups_of(GroupKind::tp, l).front() == std::vector<int>{0, 1});
  REQUIRE(groups_of(GroupKind::dp, l).front() == std::vector<int>{0, 2, 4, 6});
  REQUIRE(groups_of(GroupKind::pp, l).front() == std::vector<int>{0, 8});
  REQUIRE(groups_of(GroupKind::ep, l).front() == std::vector<int>{0, 1});
  REQUIRE(groups_of(GroupKind::edp, l).front() == std::vector<int>{0, 2, 4, 6});
  ParallelLayout hybrid = l;  // HSDP: shards over neighbours, replicas farther apart
  hybrid.shard_size = 2;
  REQUIRE(groups_of(GroupKind::dp_shard, hybrid).front() == std::vector<int>{0, 2});
  REQUIRE(groups_of(GroupKind::dp_replicate, hybrid).front() == std::vector<int>{0, 4});
  ParallelLayout split =
      l;  // experts split over tp as well: expert groups skip over the tensor ranks
  split.expert_tp = 2;
  REQUIRE(groups_of(GroupKind::ep, split).front() == std::vector<int>{0, 2});
  REQUIRE(groups_of(GroupKind::edp, split).front() == std::vector<int>{0, 4});
}

TEST_CASE("blocks are dealt out completely and the ends of the pipeline get the fewer ones",
          "[layout]") {
  ParallelLayout l;
  l.pp = 12;
  // BLOOM: 70 blocks over 12 stages, 5 on the first (embedding) and the last (head), 6 between.
  for (int stage = 0; stage < 12; ++stage) {
    const LayerRange range = blocks_of(stage, 0, 70, l);
    REQUIRE(range.last - range.first == (stage == 0 || stage == 11 ? 5 : 6));
  }
  for (l.pp = 1; l.pp <= 7; ++l.pp)
    for (l.virtual_stages = 1; l.virtual_stages <= 3; ++l.virtual_stages)
      for (int blocks = l.pp * l.virtual_stages; blocks < 40; ++blocks) {
        int next = 0;
        for (int chunk = 0; chunk < l.virtual_stages; ++chunk)
          for (int stage = 0; stage < l.pp; ++stage) {
            const LayerRange range = blocks_of(stage, chunk, blocks, l);
            if (range.first != next || range.last <= range.first) FAIL("gap");
            next = range.last;
          }
        if (next != blocks) FAIL("blocks left over");
      }
}
