#include "sim/profile/collective_profile.hpp"

#include "sim/io/json.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::literals;

TEST_CASE("a collective profile round-trips through JSON", "[collective]") {
  CollectiveProfile profile;
  profile.curves.push_back(
      {Collective::all_to_all, 8, {{1_KiB, 9.5_us}, {1_MiB, 21_us}}, "table x"});
  FabricFit fit;
  fit.transport = "efa";
  fit.ring_step_latency = 20_us;
  fit.simple_step_latency = 60_us;
  fit.large_efficiency = 0.83;
  fit.half_efficiency_size = 1_MiB;
  fit.ll128 = false;
  fit.two_node_tree = true;
  fit.ll_efficiency = 0.25;
  fit.ll_half_loss = 2e6;
  fit.small_sigma = 0.5;
  fit.large_sigma = 0.125;
  profile.fabrics.push_back(fit);
  profile.parameters["in_switch_reduction_min_ranks"] = 5;

  const Json json = json_of(profile);
  Problems problems;
  const CollectiveProfile back =
      read_collective_profile(ObjectReader(json, "p.json", "", problems));
  INFO(problems.text());
  REQUIRE(problems.empty());
  REQUIRE(json_of(back) == json);
  REQUIRE(back.curves[0].points[1].first == 1_MiB);
  REQUIRE(back.curves[0].points[0].second.value == Approx(9.5e-6));
  REQUIRE(back.fabrics[0].simple_step_latency.value == Approx(60e-6));
  REQUIRE_FALSE(back.fabrics[0].ll128);
  REQUIRE(back.fabrics[0].two_node_tree);
  REQUIRE(back.fabrics[0].ll_efficiency == 0.25);
  REQUIRE(back.fabrics[0].ll_half_loss == 2e6);
  REQUIRE(back.fabrics[0].small_sigma == 0.5);
  REQUIRE(back.fabrics[0].large_sigma == 0.125);
}

TEST_CASE("curve points that do not rise are a problem at their place", "[collective]") {
  const Json json = *parse_json(
      R"({"curves": [{"collective": "all_reduce", "ranks": 2, "points_B_us": [[1024, 5], [512, 6], [2048, -1]]}]})",
      "p.json");
  Problems problems;
  read_collective_profile(ObjectReader(json, "p.json", "", problems));
  REQUIRE(problems.size() == 2);
  REQUIRE(problems.list()[0].place == "/curves/0/points_B_us/1");
  REQUIRE(problems.list()[1].place == "/curves/0/points_B_us/2");
}
