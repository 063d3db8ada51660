// Loaders and steps together: closed forms, accounting, trace, folding, replicas out of lockstep.
#include <algorithm>
#include <numeric>

#include "sim/core/robust_stats.hpp"
#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
/// Samples of 1 MB, one worker per process; decoding costs nothing.
DataSpec one_worker() {
  DataSpec d;
  d.storage.node_rate = 1e9;
  d.storage.request_bytes = 1e9;
  d.sample_bytes = d.decoded_bytes = 1e6;
  d.workers = 1;
  d.prefetch = 2;
  d.cores = 16;
  return d;
}
Scenario with(const DataSpec& data, int nodes = 2, ParallelLayout layout = {.dp = 0},
              int micro_batches = 1) {
  Scenario s = small_scenario(nodes, layout, micro_batches);
  s.data = data;
  return s;
}
Forecast run(const Scenario& s, EngineKind engine = EngineKind::native, bool records = false) {
  SimulateOptions options{.engine = engine, .execute = {}};
  options.execute.record_timeline = records;
  return simulate(s, small_profile(), options);
}
double unstalled(int nodes = 2, ParallelLayout layout = {.dp = 0}, int micro_batches = 1) {
  return run(small_scenario(nodes, layout, micro_batches)).outcome.step_s;
}
double stall_of(const Forecast& f) {
  return f.outcome.breakdown[static_cast<std::size_t>(Category::data_stall)];
}
}  // namespace

TEST_CASE("a loader slower than the step sets its pace and a faster one changes nothing",
          "[data]") {
  const double step = unstalled();
  for (const double factor : {0.5, 0.9, 1.5, 4.0}) {
    DataSpec d = one_worker();
    // 8 processes of a node share its rate: a batch of 1 sample for each takes 8 MB / rate.
    d.storage.node_rate = 8e6 / (factor * step);
    Scenario s = with(d);
    s.run.steps = 6;
    const Forecast f = run(s);
    INFO("reading takes " << factor << " steps");
    for (const double seconds : f.step_times)
      CHECK(seconds == Approx(std::max(1.0, factor) * step).epsilon(2e-3));
    CHECK(stall_of(f) == Approx(std::max(0.0, factor - 1) * step).epsilon(0.01).margin(1e-9));
    REQUIRE(f.data);
    CHECK(f.data->step_without_stall_s == Approx(step).epsilon(1e-9));
    CHECK(f.data->sustained_samples_per_s == Approx(16 / (factor * step)).epsilon(1e-6));
  }
}

TEST_CASE("categories still sum to the step", "[data]") {
  DataSpec d = one_worker();
  d.storage.node_rate = 8e6 / (2 * unstalled());
  const Forecast f = run(with(d));
  CHECK(std::accumulate(f.outcome.breakdown.begin(), f.outcome.breakdown.end(), 0.0) ==
        Approx(f.outcome.step_s).epsilon(1e-9));
}

TEST_CASE("both engines wait for the same batches", "[data]") {
  DataSpec d = one_worker();
  d.storage.node_rate = 8e6 / (1.7 * unstalled());
  d.decode.s_per_sample = 1e-3;
  Scenario s = with(d);
  s.run.steps = 5;
  const Forecast native = run(s), simgrid = run(s, EngineKind::simgrid);
  for (std::size_t i = 0; i < native.step_times.size(); ++i)
    CHECK(native.step_times[i] == Approx(simgrid.step_times[i]).epsilon(1e-9));
}

TEST_CASE("gradient accumulation takes a batch per micro-batch", "[data]") {
  const double step = unstalled(2, {.dp = 0}, 4);
  DataSpec d = one_worker();
  d.storage.node_rate = 4 * 8e6 / (2 * step);  // four batches take two steps' time
  Scenario s = with(d, 2, {.dp = 0}, 4);
  s.run.steps = 20;
  CHECK(mean(run(s).step_times) == Approx(2 * step).epsilon(0.02));
}

TEST_CASE("only the ends of a pipeline and one of the tensor-parallel peers load", "[data]") {
  // 2 nodes of 8: tp 2 x pp 4 x dp 2. First and last stage have 2 blocks each of one process.
  const ParallelLayout layout{.tp = 2, .pp = 4, .dp = 0};
  Scenario s = with(one_worker(), 2, layout, 4);
  const ModelWork work = model_work(s.model, s.training, s.parallel);
  const StepGraph graph = build_step_graph(s, work);
  CHECK(graph_fault(graph).empty());
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const auto loads =
        std::count_if(graph.stages[stage].ops.begin(), graph.stages[stage].ops.end(),
                      [](const GraphOp& op) { return op.kind == GraphOp::Kind::load; });
    CHECK(loads == (stage == 0 || stage == 3 ? 4 : 0));
  }
  const Forecast f = run(s);
  CHECK(f.outcome.step_s == Approx(unstalled(2, layout, 4)).epsilon(0.02));
  s.data->storage.node_rate = 1e6;  // a MB a second: every stage waits in the end
  CHECK(run(s).outcome.step_s > 4);
}

TEST_CASE("equal nodes behind one store are simulated once and take as long", "[data]") {
  DataSpec d = one_worker();
  d.storage.shared_rate = 32 * 1e6 / (3 * unstalled(4));  // 32 processes on 4 nodes, 3 steps' time
  Scenario folded = with(d, 4), unfolded = folded;
  unfolded.run.fold = false;
  folded.run.steps = unfolded.run.steps = 4;
  const Forecast one = run(folded), all = run(unfolded);
  CHECK(one.is_folded);
  CHECK_FALSE(all.is_folded);
  CHECK(one.outcome.step_s == Approx(3 * unstalled(4)).epsilon(0.01));
  for (std::size_t i = 0; i < one.step_times.size(); ++i)
    CHECK(one.step_times[i] == Approx(all.step_times[i]).epsilon(1e-9));
}

TEST_CASE("the second epoch comes from the cache", "[data]") {
  DataSpec d = one_worker();
  const double step = unstalled();
  d.storage.node_rate = 8e6 / (5 * step);
  d.dataset_samples = 1000;
  d.cache.bytes = 1e9;
  d.sharding = EpochSharding::fixed;
  CHECK(run(with(d)).outcome.step_s == Approx(5 * step).epsilon(0.01));
  d.epoch = 2;
  const Forecast second = run(with(d));
  CHECK(second.outcome.step_s == Approx(step).epsilon(1e-6));
  CHECK(second.data->hit_share == 1);
}

TEST_CASE("an object store's latency bounds a worker at its requests in flight over the latency",
          "[data]") {
  const double step = unstalled();
  DataSpec d = one_worker();
  d.storage = {.kind = StorageKind::object_store, .latency_s = 3 * step, .request_bytes = 1e9};
  CHECK(run(with(d)).outcome.step_s == Approx(3 * step).epsilon(0.01));
  d.workers = 2;  // two requests under way
  d.prefetch = 4;
  CHECK(run(with(d)).outcome.step_s == Approx(1.5 * step).epsilon(0.01));
  d.workers = 4;
  d.prefetch = 8;
  CHECK(run(with(d)).outcome.step_s == Approx(step).epsilon(1e-6));
}

TEST_CASE("a better loading path never makes a step longer", "[data]") {
  const double step = unstalled();
  DataSpec slow = one_worker();
  slow.storage.node_rate = 8e6 / (2 * step);  // 2 steps' time for the node's 8 batches
  slow.storage.latency_s = 0.5 * step;        // the one worker: 0.5 + 0.25 + 0.8 of a step
  slow.decode.s_per_sample = 0.8 * step;
  slow.cores = 4;  // 8 x 0.8 / 4 = 1.6 of a step
  const auto mean_step = [&](auto change) {
    DataSpec d = slow;
    change(d);
    Scenario s = with(d);
    s.run.steps = 40;
    return mean(run(s).step_times) / step;
  };
  CHECK(mean_step([](DataSpec&) {}) == Approx(2).epsilon(0.02));
  constexpr double kBlur = 1.02;  // of batches in work when the count begins and ends
  CHECK(mean_step([](DataSpec& d) { d.storage.latency_s /= 4; }) < 2 * kBlur);
  CHECK(mean_step([](DataSpec& d) { d.decode.s_per_sample /= 8; }) < 2 * kBlur);
  CHECK(mean_step([](DataSpec& d) { d.workers = 4, d.prefetch = 8; }) < 2 * kBlur);
  CHECK(mean_step([](DataSpec& d) { d.cores = 64; }) < 2 * kBlur);
  // With storage out of the way the cores bind, then the worker, then nothing.
  const auto fast = [](DataSpec& d) { d.storage.node_rate *= 100; };
  CHECK(mean_step(fast) == Approx(1.6).epsilon(0.1));
  CHECK(mean_step([&](DataSpec& d) { fast(d), d.cores = 64; }) == Approx(1.3).epsilon(0.02));
  CHECK(mean_step([&](DataSpec& d) { fast(d), d.cores = 64, d.workers = 2, d.prefetch = 4; }) ==
        Approx(1).epsilon(1e-6));
}

TEST_CASE("the trace shows loaders at work and the stall on the compute stream", "[data]") {
  DataSpec d = one_worker();
  const double step = unstalled();
  d.storage.node_rate = 8e6 / (2 * step);
  d.decode.s_per_sample = 0.3 * step;
  const Forecast f = run(with(d), EngineKind::native, true);
  REQUIRE(f.outcome.timeline);
  const Timeline& t = *f.outcome.timeline;
  double stalled = 0, read = 0, decoded = 0;
  for (const Span& span : t.spans) {
    const Track& track = t.tracks[span.track];
    const double seconds = static_cast<double>(span.end - span.start) * 1e-9;
    const std::string& name = t.names.text_of(span.name);
    CHECK(span.start >= 0);
    CHECK(span.end <= static_cast<Nanoseconds>(f.outcome.step_s * 1e9) + 1);
    if (track.rank != 0) continue;
    if (track.stream == "compute" && name == "data_stall") stalled += seconds;
    if (track.stream == "loader 0.0" && name == "data_read") read += seconds;
    if (track.stream == "loader 0.0" && name == "data_decode") decoded += seconds;
  }
  CHECK(stalled == Approx(f.outcome.per_worker[0][static_cast<std::size_t>(Category::data_stall)])
                       .epsilon(1e-5));
  CHECK(stalled > 0.5 * step);
  // The one worker is never idle: reading and decoding fill the step.
  CHECK(read + decoded == Approx(f.outcome.step_s).epsilon(0.01));
  CHECK(decoded == Approx(0.3 * step).epsilon(0.35));
}

TEST_CASE("latency jitter costs a step more than its mean and tells replicas apart", "[data]") {
  DataSpec d = one_worker();
  const double step = unstalled();
  d.storage = {.kind = StorageKind::object_store, .latency_s = 0.9 * step, .request_bytes = 1e9};
  Scenario calm = with(d);
  calm.run.steps = 40;
  Scenario jittery = calm;
  jittery.data->storage.latency_sigma = 0.5;
  const Forecast f = run(jittery);
  CHECK_FALSE(f.is_folded);
  CHECK(mean(run(calm).step_times) == Approx(step).epsilon(1e-6));
  CHECK(mean(f.step_times) > 1.05 * step);
  CHECK(run(jittery).step_times == f.step_times);  // the same seed, the same draws
}

TEST_CASE("replicas out of lockstep wait for their own loaders", "[data]") {
  Scenario s = small_scenario(2, {.dp = 0}, 1);
  s.parallel.zero_stage = 0;
  s.sync.mode = SyncMode::local_sgd;
  s.sync.period = 1;
  s.run.steps = 20;
  const double free = 1 / run(s).sync->samples_per_s * 16;
  DataSpec d = one_worker();
  d.storage.node_rate = 8e6 / (3 * free);
  s.data = d;
  const Forecast f = run(s);
  CHECK(16 / f.sync->samples_per_s == Approx(3 * free).epsilon(0.1));
  REQUIRE(f.data);
  CHECK(f.data->step_without_stall_s == Approx(free).epsilon(1e-6));
  CHECK(stall_of(f) > 0.5 * free);
}

TEST_CASE("a stalled step says what bounds it and what would help", "[data]") {
  DataSpec d = one_worker();
  d.storage.node_rate = 8e6 / (4 * unstalled());
  const Forecast f = run(with(d));
  const auto said = [&](const std::string& text) {
    return std::any_of(f.warnings.begin(), f.warnings.end(),
                       [&](const std::string& w) { return w.find(text) != std::string::npos; });
  };
  CHECK(said("data-bound: for 75 % of the step"));
  CHECK(said("storage bandwidth of a node is the tightest limit"));
  CHECK(said("/data/storage/node_GBps"));
  // What it names removes the stall.
  REQUIRE(f.data->remedies.size() == 1);
  d.storage.node_rate = f.data->remedies[0].to * 1e9;
  CHECK(run(with(d)).outcome.step_s == Approx(unstalled()).epsilon(0.002));
}

TEST_CASE("inputs of the section that change nothing are named", "[data]") {
  const auto warns = [](const DataSpec& d, const std::string& text) {
    const Forecast f = run(with(d));
    return std::any_of(f.warnings.begin(), f.warnings.end(),
                       [&](const std::string& w) { return w.find(text) != std::string::npos; });
  };
  DataSpec d = one_worker();
  CHECK_FALSE(warns(d, "/data/"));
  d.workers = 4;
  CHECK(warns(d, "/data/workers: only 2 of 4"));
  d = one_worker();
  d.in_flight = 8;
  CHECK(warns(d, "/data/in_flight: 8 has the effect of 1"));
  // Out of lockstep a batch is a whole step's four samples, one request each.
  Scenario whole_steps = with(d, 2, {.dp = 0}, 4);
  whole_steps.sync.mode = SyncMode::local_sgd;
  whole_steps.sync.period = 1;
  const Forecast f = run(whole_steps);
  CHECK(std::any_of(f.warnings.begin(), f.warnings.end(), [](const std::string& w) {
    return w.find("/data/in_flight: 8 has the effect of 4:") != std::string::npos;
  }));
  d = one_worker();
  d.cache.bytes = 1e9;
  d.dataset_samples = 10;
  CHECK(warns(d, "/data/cache has no effect in the first epoch"));
}
