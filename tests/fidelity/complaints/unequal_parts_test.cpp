// Unequal GPUs, late ranks, odd machines.
#include <map>
#include <set>

#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("some ranks arrive late at a collective", "[complaints][fidelity]") {  // astra-sim#292
  // Ranks 4 to 7 stand still for 30 ms: everyone waits for them once, and the waiting has a name.
  Scenario scenario = job({R"(/stragglers=[{"ranks": "4-7", "pause_ms": 30}])"});
  const Forecast late = forecast(scenario);
  CHECK(late.outcome.step_s == Approx(step_s() + 0.030).epsilon(0.01));
  double waited = 0;
  for (const Breakdown& parts : late.outcome.per_worker)
    waited = std::max(waited, parts[static_cast<std::size_t>(Category::straggler_wait)]);
  CHECK(waited > 0.020);
}

TEST_CASE("each GPU has a speed of its own", "[complaints][fidelity]") {  // astra-sim#73
  const double all = step_s();
  double before = all;
  for (const double slowdown : {1.1, 1.5, 3.0}) {
    const double step = step_s(
        {R"(/stragglers=[{"ranks": "5", "compute_slowdown": )" + std::to_string(slowdown) + "}]"});
    CHECK(step > before);
    CHECK(step <= slowdown * all * 1.001);
    before = step;
  }
  // Faster than the others helps nobody.
  CHECK(step_s({R"(/stragglers=[{"ranks": "5", "compute_slowdown": 0.5}])"}) ==
        Approx(all).epsilon(0.01));
}

TEST_CASE("nodes of two kinds run one job", "[complaints][fidelity]") {  // astra-sim#371
  const auto cluster = [](int h100, int a100) {
    return R"(/cluster={"name": "mixed", "intra": "nvswitch", "gpu_link_GBps": 300, "nics": 8, "nic_Gbps": 200, "fabric": {"kind": "rail-optimized"},
               "groups": [)" +
           std::string(h100 > 0
                           ? R"({"nodes": )" + std::to_string(h100) + R"(, "gpu": "h100-sxm5-80g"})"
                           : "") +
           (h100 > 0 && a100 > 0 ? "," : "") +
           std::string(a100 > 0
                           ? R"({"nodes": )" + std::to_string(a100) + R"(, "gpu": "a100-sxm4-80g"})"
                           : "") +
           "]}";
  };
  const double fast = step_s({cluster(2, 0)}), mixed = step_s({cluster(1, 1)}),
               slow = step_s({cluster(0, 2)});
  CHECK(fast < mixed);
  CHECK(mixed <= slow * 1.1);  // the slow half sets the pace
  CHECK(mixed >= slow * 0.8);
  CHECK_FALSE(forecast(Settings{cluster(1, 1)}).is_folded);
}

TEST_CASE("meshes and tori and fabrics without switches run",
          "[complaints][fidelity]") {  // astra-sim#270, #38, #299
  const std::vector<Settings> machines{
      {R"(/cluster={"preset": "dgx-v100", "nodes": 2})"},    // hybrid cube mesh
      {R"(/cluster={"preset": "perlmutter", "nodes": 4})"},  // four GPUs all to all, dragonfly
      {R"(/cluster={"preset": "mi300x-8", "nodes": 2})"},    // xGMI mesh
      {R"(/cluster={"preset": "tpu-v4", "nodes": 16, "fabric": {"torus_shape": [4, 4, 1]}})"},
      {R"(/cluster={"preset": "l40s-pcie", "nodes": 2})"},
  };
  for (const Settings& machine : machines) {
    INFO(machine.front());
    const Settings settings = machine + Settings{"/training/global_batch=32", "/model/layers=4"};
    const double native = step_s(settings), simgrid = step_s(settings, EngineKind::simgrid);
    CHECK(native > 0);
    CHECK(simgrid == Approx(native).epsilon(1e-9));
  }
}
