// Two roads, one answer: whole steps on both sharing engines, and on the analytic one where nothing
// shares.
#include <cmath>
#include <numeric>

#include "sim/core/random.hpp"
#include "sim/engine/step_executor.hpp"
#include "tests/support/pipeline_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::tests;

namespace {
StepOutcome run(const Job& job, EngineKind kind) {
  const auto network = make_network(kind);
  return execute_step(job, *network, {});
}

/// Small pipelines with everything that may differ between workers: contention, stragglers, jitter,
/// pauses, host-bound segments, overlap slowdown, changing links.
PipelineShape random_shape(std::uint64_t seed) {
  std::uint64_t counter = 0;
  const auto draw = [&](int least, int most) {
    return least + static_cast<int>(mixed_bits(seed, ++counter) %
                                    static_cast<std::uint64_t>(most - least + 1));
  };
  PipelineShape shape;
  shape.seed = seed;
  shape.stages = draw(1, 4);
  shape.replicas = draw(1, 9);
  shape.micro_batches = draw(1, 7);
  shape.buckets = draw(1, 5);
  shape.host_share = draw(0, 2) * 0.7;
  shape.activation_bytes = 1e6 * std::pow(10.0, draw(0, 3));
  shape.gradient_bytes = 1e9 * std::pow(10.0, draw(0, 2));
  shape.nodes_per_leaf = draw(2, 8);
  shape.oversubscription = draw(0, 1) == 0 ? 1 : 4;
  shape.random_placement = draw(0, 1) == 1;
  shape.straggler_sigma = 0.1 * draw(0, 2);
  shape.jitter_sigma = 0.05 * draw(0, 2);
  shape.overlap_slowdown = 1 + 0.2 * draw(0, 2);
  return shape;
}
Job random_job(std::uint64_t seed) {
  Job job = pipeline_job(random_shape(seed));
  if (seed % 3 == 0) job.workers[seed % job.workers.size()].pause = 0.07;
  for (std::uint64_t i = 0; i < seed % 4; ++i)
    job.link_events.push_back({static_cast<int>(mixed_bits(seed, 100 + i) % job.node_ports.size()),
                               uniform_from_bits(mixed_bits(seed, 200 + i)),
                               0.3 + uniform_from_bits(mixed_bits(seed, 300 + i))});
  return job;
}
}  // namespace

TEST_CASE(
    "simgrid and native agree on random steps with contention and stragglers and link changes",
    "[executor]") {
  const std::uint64_t seed = GENERATE(range(1, 61));
  CAPTURE(seed);
  const Job job = random_job(seed);
  const StepOutcome simgrid = run(job, EngineKind::simgrid), native = run(job, EngineKind::native);
  REQUIRE(simgrid.step_s == Approx(native.step_s).epsilon(1e-9));
  for (std::size_t worker = 0; worker < job.workers.size(); ++worker) {
    REQUIRE(simgrid.finish_s[worker] == Approx(native.finish_s[worker]).epsilon(1e-9));
    double sum = 0;
    for (std::size_t i = 0; i < kCategories; ++i) {
      sum += native.per_worker[worker][i];
      REQUIRE(native.per_worker[worker][i] >= -1e-12);
      REQUIRE(simgrid.per_worker[worker][i] ==
              Approx(native.per_worker[worker][i]).epsilon(1e-9).margin(1e-9 * native.step_s));
    }
    REQUIRE(sum == Approx(native.step_s).epsilon(1e-9));
  }
  for (const LinkLoad& load : native.busiest)
    REQUIRE(load.utilisation <= 1.3 + 1e-9);  // link events raise to at most 1.3
}

TEST_CASE("the analytic network equals the others where no two flows share a link", "[executor]") {
  // One stage: every port carries one ring edge in each direction. Two stages and one replica:
  // activations one way, gradients the other, one message at a time per lane.
  PipelineShape shape = random_shape(static_cast<std::uint64_t>(GENERATE(range(1, 11))));
  shape.nodes_per_leaf = 64;
  if (shape.seed % 2 == 0)
    shape.stages = 1;
  else
    shape.stages = 2, shape.replicas = 1;
  const Job job = pipeline_job(shape);
  const double native = run(job, EngineKind::native).step_s;
  REQUIRE(run(job, EngineKind::analytic).step_s == Approx(native).epsilon(1e-9));
  REQUIRE(run(job, EngineKind::simgrid).step_s == Approx(native).epsilon(1e-9));
}

TEST_CASE("oversubscription and random placement slow a communication-bound step", "[executor]") {
  PipelineShape shape;
  shape.stages = 2;
  shape.replicas = 32;
  shape.gradient_bytes = 200e9;  // 2 * 31/32 * 200 GB at 400 GB/s: 0.97 s against 1.3 s of compute
  const double easy = run(pipeline_job(shape), EngineKind::native).step_s;
  shape.oversubscription = 4;
  shape.random_placement = true;
  REQUIRE(run(pipeline_job(shape), EngineKind::native).step_s > 2 * easy);
}

TEST_CASE("the bytes of a pipeline step are those of its formulas", "[executor]") {
  // Per replica 2 (P-1) M messages; per stage and bucket n edges of 2 (n-1)/n of the bucket.
  PipelineShape shape;
  shape.stages = 3;
  shape.replicas = 4;
  shape.micro_batches = 5;
  const StepOutcome outcome = run(pipeline_job(shape), EngineKind::native);
  REQUIRE(outcome.payload_bytes[static_cast<std::size_t>(GroupKind::pp)] ==
          Approx(4 * 2 * 2 * 5 * 50e6).epsilon(1e-12));
  REQUIRE(outcome.payload_bytes[static_cast<std::size_t>(GroupKind::dp)] ==
          Approx(3 * 4 * 1.5 * 40e9).epsilon(1e-12));
}

TEST_CASE("a step is the same to the last bit each time", "[executor]") {
  const Job job = random_job(12);
  const StepOutcome first = run(job, EngineKind::native), second = run(job, EngineKind::native);
  REQUIRE(first.step_s == second.step_s);
  REQUIRE(first.per_worker == second.per_worker);
  REQUIRE(first.events == second.events);
}
