// Forecasts for machines that nobody in the room owns.
#include "sim/io/json.hpp"
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("a scenario goes from 4 to 1024 GPUs without a trace of any of them",
          "[complaints][fidelity]") {  // astra-sim#168, #202, #248
  double before = 0;
  for (const int nodes : {1, 2, 8, 32, 128}) {
    const Forecast f = forecast(Settings{"/cluster/nodes=" + std::to_string(nodes),
                                         "/training/global_batch=" + std::to_string(16 * nodes)});
    INFO(nodes << " nodes");
    CHECK(f.world == 8 * nodes);
    CHECK(f.outcome.step_s >= before);  // weak scaling: never shorter
    CHECK(f.outcome.step_s < 0.2);
    before = f.outcome.step_s;
  }
}

TEST_CASE("the workload comes from the scenario and needs no GPU",
          "[complaints][fidelity]") {  // aliyun/SimAI#285, flexflow-train#1172, #1463
  // Every bundled job that trains a model is forecast here; this machine has no accelerator.
  for (const std::string& name : preset_names("jobs")) {
    INFO(name);
    const Result<Scenario> scenario = load_scenario(preset_path("jobs", name));
    REQUIRE(scenario);
    if (scenario->collective_sweep || scenario->parallel.world() > 1024) continue;
    const Forecast f = forecast(*scenario);
    CHECK(f.outcome.step_s > 0.001);
    CHECK(f.outcome.step_s < 600);
    CHECK(f.work.model_flops_per_sample.value > 0);
  }
}
