#include "sim/scenario/slowest_board.hpp"

#include "sim/cluster/gpu_catalogue.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
Scenario on(const std::string& gpu, int nodes) {
  Scenario scenario;
  NodeSpec node;
  node.gpu = *find_gpu(gpu);
  node.gpus = 8;
  scenario.cluster.groups = {{node, nodes}};
  scenario.parallel.dp = 8 * nodes;
  return scenario;
}
double factor(const Scenario& scenario) {
  return slowest_board(scenario, scenario.cluster.groups.front().spec.gpu);
}
}  // namespace

TEST_CASE("a step in lockstep runs at the clocks of its slowest board", "[scenario]") {
  // E[max] of 16 standard normals is 1.766: 1 + 0.01 x 1.766, and 1.5e-4 more for the lognormal.
  CHECK(factor(on("h100-sxm5-80g", 2)) == Approx(1.0177).margin(3e-4));
  // Of 1024: 3.248.
  CHECK(factor(on("h100-sxm5-80g", 128)) == Approx(1.0326).margin(6e-4));
  CHECK(slowest_board_note(on("h100-sxm5-80g", 2)) ==
        "cluster.clock_spread = 0.01: products take 1.018 x a typical board's time, as on the "
        "slowest of 16");
}

TEST_CASE("boards of fixed clocks are alike and so is one board", "[scenario]") {
  CHECK(factor(on("tpu-v5p", 64)) == 1);
  CHECK(slowest_board_note(on("tpu-v5p", 64)).empty());
  Scenario one = on("h100-sxm5-80g", 1);
  one.parallel.dp = 1;
  CHECK(factor(one) == Approx(1).epsilon(1e-9));
}

TEST_CASE("replicas that go on alone wait for their own boards only", "[scenario]") {
  Scenario scenario = on("h100-sxm5-80g", 2);
  scenario.parallel.tp = 4;
  scenario.parallel.dp = 4;
  scenario.sync.mode = SyncMode::async;
  CHECK(factor(scenario) == Approx(1.0103).margin(2e-4));  // E[max] of 4 normals: 1.029
}

TEST_CASE("unlike boards are compared with their own kind", "[scenario]") {
  Scenario scenario = on("h100-sxm5-80g", 1);
  NodeSpec slow = scenario.cluster.groups.front().spec;
  slow.gpu = *find_gpu("a100-sxm4-80g");
  scenario.cluster.groups.push_back({slow, 1});
  scenario.parallel.dp = 16;
  CHECK(slowest_board(scenario, slow.gpu) == Approx(1.0143).margin(2e-4));  // of 8: 1.424
}
