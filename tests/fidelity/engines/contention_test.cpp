// What a model without contention misses.
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("4:1 oversubscription and random placement slow a communication-bound step",
          "[engines][fidelity]") {
  const Settings wide{"/cluster/nodes=16", "/training/global_batch=128", "/cluster/nic_Gbps=20",
                      "/cluster/fabric/nodes_per_leaf=4"};
  const Settings bad{"/cluster/fabric/oversubscription=4", "/cluster/placement=random"};
  const double easy = step_s(wide);
  // Most of 16 ring edges leave their leaf, and the uplinks of a leaf carry what one port does:
  // three to four times.
  for (const EngineKind engine : {EngineKind::native, EngineKind::simgrid})
    CHECK(step_s(wide + bad, engine) > 1.3 * easy);
  // Without sharing nothing of this shows, but for the latency of further switches.
  CHECK(step_s(wide + bad, EngineKind::analytic) < 1.05 * step_s(wide, EngineKind::analytic));
}

TEST_CASE("collectives under way at the same time share a port", "[engines][fidelity]") {
  // Backward under ZeRO-3: gradients are scattered while the next layers are gathered, both over
  // all NICs of the node.
  const Settings mixed{"/parallel/zero_stage=3", "/strategy/prefetch=0"};
  CHECK(step_s(mixed, EngineKind::native) > 1.02 * step_s(mixed, EngineKind::analytic));
}

TEST_CASE("placement of tensor groups decides whether they cross the network",
          "[engines][fidelity]") {
  const Settings order{"/parallel/tp=8", "/parallel/dp=2"};
  const double inside = seconds_of(forecast(order + Settings{"/parallel/rank_order=tp-cp-dp-pp"}),
                                   Category::exposed_tp);
  const double across = seconds_of(forecast(order + Settings{"/parallel/rank_order=dp-tp-cp-pp"}),
                                   Category::exposed_tp);
  CHECK(across > 1.2 * inside);
}
