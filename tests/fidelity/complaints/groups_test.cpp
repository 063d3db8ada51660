// Groups and combinations of parallelism that other simulators refuse, abort on or hang with.
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/job_builder.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("experts are spread without tensor parallelism",
          "[complaints][fidelity]") {  // aliyun/SimAI#298: TP=1 with EP>1 fails
  for (const int ep : {2, 4, 8}) {
    const Forecast f =
        forecast(mixture() + Settings{"/parallel/tp=1", "/parallel/ep=" + std::to_string(ep)});
    INFO("ep " << ep);
    CHECK(seconds_of(f, Category::exposed_ep) > 0);
  }
}

TEST_CASE("expert all-to-all runs through the network's flows",
          "[complaints][fidelity]") {  // aliyun/SimAI#9
  const Settings experts = mixture() + Settings{"/model/moe/experts=16", "/parallel/ep=16"};
  const Forecast f = forecast(experts);
  CHECK(f.outcome.payload_bytes[static_cast<std::size_t>(GroupKind::ep)] > 0);
  for (const EngineKind engine : {EngineKind::native, EngineKind::simgrid})
    CHECK(step_s(experts + Settings{"/cluster/nic_Gbps=100"}, engine) >
          1.1 * step_s(experts, engine));
}

TEST_CASE("a tensor group of 24 over three nodes is explained",
          "[complaints][fidelity]") {  // aliyun/SimAI#142
  // Equal layers take equal times, tensor communication is a category of its own, and its bytes are
  // those of the network: twice the NIC rate takes most of it away.
  const Settings wide{"/cluster/nodes=3", "/model/hidden=3072",       "/model/heads=24",
                      "/parallel/tp=24",  "/training/global_batch=2", "/model/vocab=36864"};
  const Forecast f = forecast(wide);
  CHECK(seconds_of(f, Category::exposed_tp) > 0.3 * f.outcome.step_s);
  CHECK(f.outcome.payload_bytes[static_cast<std::size_t>(GroupKind::tp)] > 0);
  CHECK(seconds_of(forecast(wide + Settings{"/cluster/nic_Gbps=100"}), Category::exposed_tp) >
        1.5 * seconds_of(f, Category::exposed_tp));
  SimulateOptions options;
  options.engine = EngineKind::native;
  options.execute.record_timeline = true;
  const Scenario scenario = job(wide);
  const Forecast traced = simulate(scenario, profile_of(scenario).value_or_throw(), options);
  REQUIRE(traced.outcome.timeline);
  // Every all-reduce of the blocks' forward moves the same bytes and takes the same time.
  std::vector<Nanoseconds> times;
  for (const Span& span : traced.outcome.timeline->spans)
    if (span.category == Category::exposed_tp) times.push_back(span.end - span.start);
  REQUIRE(times.size() >= 32);
  std::sort(times.begin(), times.end());
  // Both ends are rounded to whole nanoseconds.
  CHECK(times[times.size() / 2] - times[times.size() / 4] <= 1);
}

TEST_CASE("sub-groups over different paths run together",
          "[complaints][fidelity]") {  // astra-sim#339
  // tp 4 groups, data-parallel groups of 6 over three nodes placed at random, hashed paths.
  const Forecast f =
      forecast(Settings{"/cluster/nodes=3", "/parallel/tp=4", "/training/global_batch=12",
                        "/cluster/placement=random", "/cluster/fabric/routing=hashed",
                        "/cluster/fabric/nodes_per_leaf=1", "/cluster/fabric/oversubscription=2"});
  CHECK(f.outcome.step_s > 0);
}

TEST_CASE("group sizes need not be powers of two", "[complaints][fidelity]") {
  // 3 nodes of 6 GPUs: tp 3, pp 2, dp 3.
  const Forecast f = forecast(Settings{
      "/cluster/nodes=3", "/cluster/gpus_per_node=6", "/model/hidden=1536", "/model/heads=12",
      "/parallel/tp=3", "/parallel/pp=2", "/training/global_batch=12", "/model/vocab=33792"});
  CHECK(f.outcome.step_s > 0);
  CHECK(f.world == 18);
}

TEST_CASE("deeper pipelines do not hang",
          "[complaints][fidelity]") {  // LLMServingSim#55: pp=4 hangs, pp=2 works
  for (const int pp : {2, 4, 8}) {
    INFO("pp " << pp);
    CHECK(step_s({"/parallel/pp=" + std::to_string(pp), "/training/global_batch=64"}) > 0);
  }
}

TEST_CASE("a deadlock names two waiting ranks and their ops", "[complaints][fidelity]") {
  // Two stages that both receive before they send: no order of events can free them.
  Job stuck;
  for (int stage = 0; stage < 2; ++stage) {
    tests::ProgramBuilder builder(stuck.names);
    builder.receive(1 - stage, 0);
    builder.send(1 - stage, 0, 1e6, {{Lane::recv, 0}});
    stuck.programs.push_back(builder.program);
    tests::add_worker(stuck, static_cast<std::uint32_t>(stage), stage);
  }
  stuck.channels = {{0, 1, {}, Seconds(0)}, {1, 0, {}, Seconds(0)}};
  const auto network = make_network(EngineKind::native);
  REQUIRE_THROWS_WITH(execute_step(stuck, *network), Catch::Contains("worker 0 (stage 0") &&
                                                         Catch::Contains("worker 1 (stage 1") &&
                                                         Catch::Contains("'send'"));
}
