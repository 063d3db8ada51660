// Stragglers over many steps: closed forms, symmetry of what-ifs, mitigations that do what they
// promise.
#include <fmt/format.h>

#include <cmath>

#include "sim/core/expected_maximum.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/engine/step_executor.hpp"
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/job_builder.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE(
    "the mean step of n lognormally jittering ranks is the expected maximum within 1 per cent",
    "[tradeoffs]") {
  // Step = slowest of n ranks with one pass of 1 s each. 4000 steps: the mean is known to deviation
  // / sqrt(4000) < 0.3 %.
  for (const int ranks : {2, 16, 128}) {
    for (const double sigma : {0.05, 0.2}) {
      Job job;
      tests::ProgramBuilder program(job.names);
      program.work("forward", 1);
      job.programs.push_back(std::move(program.program));
      for (int r = 0; r < ranks; ++r)
        job.workers[tests::add_worker(job, 0, 0, r)].jitter_sigma = sigma;
      double sum = 0;
      constexpr int kSteps = 4000;
      for (int step = 0; step < kSteps; ++step) {
        job.seed = static_cast<std::uint64_t>(step) + 1;
        const auto network = make_network(EngineKind::native);
        sum += execute_step(job, *network).step_s;
      }
      INFO(ranks << " ranks, sigma " << sigma);
      CHECK(sum / kSteps == Approx(expected_maximum_lognormal(ranks, sigma)).epsilon(0.01));
    }
  }
}

TEST_CASE("jitter drawn once a step through the scenario gives the same expected maximum",
          "[tradeoffs]") {
  // 16 replicas, compute only in the mean: without the network's share the slowdown of compute is E
  // max; with exposed communication and optimizer unchanged the step's slowdown is a little less.
  const Settings jitter{
      R"(/stragglers=[{"jitter": {"distribution": "lognormal", "sigma": 0.1, "each": "step"}}])",
      "/run/steps=400"};
  const Forecast f = forecast(jitter);
  REQUIRE(f.straggler_free_s);
  const double slowdown = mean(f.step_times) / *f.straggler_free_s,
               most = expected_maximum_lognormal(16, 0.1);
  CHECK(slowdown < most * 1.01);
  CHECK(slowdown > 1 + 0.8 * (most - 1));
}

TEST_CASE("a heavier tail of equal mean costs more at scale", "[tradeoffs]") {
  // pareto with p = 0.02, shape 2: mean 1 + 0.02 = 1.02; exponential scale 0.02: mean 1.02
  const auto mean_step = [](const char* jitter) {
    return mean(forecast(Settings{std::string("/stragglers=[{\"jitter\":") + jitter + "}]",
                                  "/run/steps=100"})
                    .step_times);
  };
  CHECK(
      mean_step(R"({"distribution": "pareto", "shape": 2, "probability": 0.02, "each": "step"})") >
      mean_step(R"({"distribution": "exponential", "scale": 0.02, "each": "step"})"));
}

TEST_CASE(
    "garbage collection at the same step on every rank costs one pause per period and apart up to "
    "one each step",
    "[tradeoffs]") {
  const auto lost = [](const char* together) {
    const Forecast f = forecast(Settings{
        std::string(
            R"(/stragglers=[{"periodic": {"period_steps": 20, "pause_ms": 50, "together": )") +
            together + "}}]",
        "/run/steps=200"});
    return mean(f.step_times) - *f.straggler_free_s;
  };
  // together: 50 ms every 20 steps = 2.5 ms; apart: 16 phases of 20 hit most steps: 1 - (19/20)^16
  // = 0.56 of them, 28 ms
  CHECK(lost("true") == Approx(0.0025).epsilon(0.1));
  CHECK(lost("false") > 0.015);
  CHECK(lost("false") < 0.05);
}

TEST_CASE("bursts and drift and slow storage appear where and when they belong", "[tradeoffs]") {
  const Forecast drift = forecast(Settings{
      R"(/stragglers=[{"ranks": "3", "drift": {"per_hour": 100, "limit": 3}}])", "/run/steps=60"});
  CHECK(drift.step_times.back() > drift.step_times.front() * 1.01);
  const Forecast bursts = forecast(Settings{
      R"(/stragglers=[{"ranks": "3", "burst": {"every_s": 2, "duration_s": 0.5, "slowdown": 3}}])",
      "/run/steps=60"});
  CHECK(quantile(bursts.step_times, 0.95) > 1.2 * quantile(bursts.step_times, 0.1));
  const double step = *bursts.straggler_free_s;
  const Forecast storage = forecast(Settings{
      fmt::format(R"(/stragglers=[{{"ranks": "5", "storage": {{"read_ms": {}}}}}])", 2000 * step),
      "/run/steps=30"});
  // A batch every 2 steps' time: the steady step takes two.
  CHECK(storage.step_times.back() == Approx(2 * step).epsilon(0.02));
  const Forecast fast = forecast(Settings{
      fmt::format(R"(/stragglers=[{{"ranks": "5", "storage": {{"read_ms": {}}}}}])", 500 * step),
      "/run/steps=30"});
  CHECK(fast.step_times.back() == Approx(step).epsilon(1e-6));
}

TEST_CASE("a slow port slows the step and only communication", "[tradeoffs]") {
  const Settings narrow{"/cluster/nic_Gbps=25"};
  const Forecast good = forecast(narrow);
  const Forecast bad = forecast(
      narrow + Settings{R"(/stragglers=[{"nodes": "1", "link": {"bandwidth_factor": 0.25}}])"});
  CHECK(bad.outcome.step_s > 1.2 * good.outcome.step_s);
  CHECK(seconds_of(bad, Category::compute) ==
        Approx(seconds_of(good, Category::compute)).epsilon(0.15));  // slower beside traffic
}

TEST_CASE("the attribution names the slow node and replacing it recovers the loss", "[tradeoffs]") {
  const Scenario s = job(
      {"/cluster/nodes=4",
       R"(/stragglers=[{"nodes": "2", "compute_slowdown": 1.4}, {"ranks": "*", "jitter": {"distribution": "lognormal", "sigma": 0.01}}])",
       "/run/steps=10"});
  const StragglerAnalysis a =
      analyse_stragglers(s, profile_of(s).value_or_throw(), EngineKind::native);
  REQUIRE_FALSE(a.nodes.empty());
  CHECK(a.nodes.front().what == "node 2 replaced");
  CHECK(a.critical_steps.front().first == 2);
  CHECK(a.critical_steps.front().second == 10);
  const double lost = a.mean_s - a.straggler_free_s;
  CHECK((a.mean_s - a.nodes.front().step_s) / lost > 0.8);
  CHECK((a.mean_s - a.causes[0].step_s) / lost > 0.8);
  CHECK(a.nodes[1].step_s == Approx(a.mean_s).epsilon(0.02));
  // Samples by speed: with 2 micro-batches of 1 per rank at even shares nothing can move unless
  // samples are many.
  bool is_balanced = false;
  for (const StragglerRemedy& r : a.remedies)
    is_balanced = is_balanced || r.what.find("proportion") != std::string::npos;
  CHECK(is_balanced);
}

TEST_CASE("load-aware batches take most of a constant straggler's loss away", "[tradeoffs]") {
  const Settings slow{"/training/global_batch=320",
                      R"(/stragglers=[{"ranks": "3", "compute_slowdown": 1.5}])"};
  const double even = step_s(slow),
               balanced = step_s(slow + Settings{"/mitigation/load_aware_batches=true"}),
               free = *forecast(slow).straggler_free_s;
  CHECK(even > 1.4 * free);
  // 15 replicas at speed 1 and one at 2/3: 16 / 15.67 = 1.021 of the even step at best; whole
  // samples (13.3 and 20.4 of 20) make it 21 / 20 = 1.05
  CHECK(balanced < 1.07 * free);
}

TEST_CASE("an evicted node stops costing once a spare takes over", "[tradeoffs]") {
  const Settings slow{"/cluster/nodes=4",
                      R"(/stragglers=[{"nodes": "1", "compute_slowdown": 1.3}])", "/run/steps=30"};
  const Forecast f = forecast(
      slow +
      Settings{
          R"(/mitigation/evict={"threshold": 1.1, "window_steps": 10, "spares": 1, "swap_s": 60})"});
  REQUIRE(f.evictions.size() == 1);
  CHECK(f.evictions[0].node == 1);
  CHECK(f.evictions[0].has_spare);
  CHECK(f.evictions[0].step == 10);
  // 1.3 on the compute; communication that nothing hides keeps its time.
  CHECK(f.step_times.front() > 1.15 * *f.straggler_free_s);
  CHECK(f.step_times.back() == Approx(*f.straggler_free_s).epsilon(0.01));
  CHECK(f.run_s > 60);
  // Without a spare the rest computes its samples: 4/3 of the compute, which is worse than a node
  // at 1.3.
  const Forecast gone =
      forecast(slow + Settings{R"(/mitigation/evict={"threshold": 1.1, "window_steps": 10})"});
  CHECK(gone.step_times.back() == Approx(*f.straggler_free_s * 4 / 3).epsilon(0.1));
}

TEST_CASE("stragglers on every kind of place keep bytes and time owned once and both engines agree",
          "[tradeoffs]") {
  const Settings all{
      "/parallel/pp=2", "/training/global_batch=64",
      R"(/stragglers=[{"ranks": "3", "compute_slowdown": 1.2}, {"nodes": "1", "link": {"bandwidth_factor": 0.5}},
      {"ranks": "5", "periodic": {"period_s": 0.05, "pause_ms": 3}}, {"ranks": "0-3", "jitter": {"distribution": "exponential", "scale": 0.05}},
      {"ranks": "9", "pause_ms": 2}, {"ranks": "7", "op": "qkv", "compute_slowdown": 2}])"};
  const Forecast a = forecast(all, EngineKind::native), b = forecast(all, EngineKind::simgrid);
  CHECK(a.outcome.step_s == Approx(b.outcome.step_s).epsilon(1e-9));
  for (const Breakdown& w : a.outcome.per_worker) {
    double sum = 0;
    for (const double s : w) sum += s;
    CHECK(sum == Approx(a.outcome.step_s).epsilon(1e-9));
  }
}
