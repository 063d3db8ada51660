#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
/// Step of 8 micro-batches through 8 layers on 4 nodes of 8 GPUs, with parameters of the profile.
double step_s(int tp, int zero_stage, const std::map<std::string, double>& parameters,
              double fused_us = 4) {
  ParallelLayout layout;
  layout.tp = tp;
  layout.dp = 0;
  layout.zero_stage = zero_stage;
  Profile profile = small_profile();
  profile.kernels.host["megatron"].fused_us = fused_us;
  profile.kernels.parameters = parameters;
  SimulateOptions options;
  options.engine = EngineKind::native;
  return simulate(small_scenario(4, layout), profile, options).outcome.step_s;
}
}  // namespace

TEST_CASE("issuing a tensor parallel collective costs the host what the framework's row says",
          "[simulate]") {
  // Per micro-batch: 4 all-reduces in each of 8 layers, 1 behind the embedding, 2 of the fused loss
  // and 1 of the head's input gradient: 36. 8 micro-batches of them at 0.1 s bound the host.
  const double bound = step_s(8, 0, {{"collective_issue_us/megatron", 1e5}});
  REQUIRE(bound > 8 * 36 * 0.1);
  REQUIRE(bound < 8 * 36 * 0.1 * 1.02);
  // 0.1 s more for each of the 7 peers on the node.
  const double peers = step_s(
      8, 0,
      {{"collective_issue_us/megatron", 1e5}, {"collective_issue_us_per_peer/megatron", 1e5}});
  REQUIRE(peers == Approx(8 * 36 * 0.8).epsilon(0.02));
  REQUIRE(step_s(8, 0, {{"collective_issue_us/jax", 1e5}}) == step_s(8, 0, {}));
}

TEST_CASE("ranks wait for their peers where the hosts bound the pass", "[simulate]") {
  const std::map<std::string, double> wait{{"collective_wait_us_per_peer/megatron", 1e5}};
  // A host that costs nothing keeps no rank behind.
  REQUIRE(step_s(8, 0, wait, 0) == Approx(step_s(8, 0, {}, 0)).epsilon(1e-12));
  // 4 collectives of 8 layers and 8 micro-batches, 7 peers, 0.1 s each.
  REQUIRE(step_s(8, 0, wait, 1e3) > 4 * 8 * 8 * 7 * 0.1);
  REQUIRE(step_s(1, 0, wait, 1e3) == step_s(1, 0, {}, 1e3));
}

TEST_CASE("ZeRO-3 over lists pays a copy for each rank in each of a layer's collectives",
          "[simulate]") {
  const auto lists = [](double per_layer) {
    return std::map<std::string, double>{{"collectives_per_layer/megatron", per_layer},
                                         {"list_copy_us/megatron", 1e4}};
  };
  // 32 ranks at 10 ms make 0.32 s of one collective; everything else is far below.
  const double one = step_s(1, 3, lists(1));
  REQUIRE(one > 8 * 0.32);
  REQUIRE(step_s(1, 3, lists(4)) == Approx(4 * one).epsilon(0.02));
  REQUIRE(step_s(1, 1, lists(4)) == step_s(1, 1, {}));
}
