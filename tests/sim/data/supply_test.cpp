// Loaders in time against closed forms; friendly numbers, every expected value solved beside it.
#include "sim/data/supply.hpp"

#include <cmath>

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();

/// One host, `processes` consumers of one process each; a batch is 8 bytes, then 2 core-seconds.
SupplySpec one_host(int processes, int workers, int prefetch) {
  SupplySpec spec;
  spec.hosts.push_back({.capacity = {kInf, kInf, kInf, kInf}});
  for (int c = 0; c < processes; ++c) spec.consumers.push_back({0});
  spec.workers = workers;
  spec.prefetch = prefetch;
  return spec;
}
SupplySpec reading(double amount, double rate, int workers = 1, int prefetch = 2) {
  SupplySpec spec = one_host(1, workers, prefetch);
  spec.hosts[0].capacity[0] = rate;
  spec.batch = {{Station::storage, amount, kInf}};
  return spec;
}

/// Lengths of steps that wait for their batch and then compute `compute_s`.
std::vector<double> steps(DataSupply& supply, double compute_s, int count) {
  std::vector<double> lengths;
  double clock = supply.now();
  for (int step = 0; step < count; ++step) {
    const double start = clock;
    supply.ask(0, clock);
    while (supply.take_served().empty()) {
      clock = supply.next_event();
      supply.advance(clock);
    }
    clock += compute_s;
    lengths.push_back(clock - start);
  }
  return lengths;
}
std::vector<double> settled_steps(const SupplySpec& spec, double compute_s, int count) {
  DataSupply supply(spec);
  supply.settle_in(compute_s, 1);
  return steps(supply, compute_s, count);
}
}  // namespace

TEST_CASE("one worker makes the step the longer of computing and reading", "[data]") {
  // 8 bytes at 2 bytes/s: a batch every 4 s.
  for (const double compute : {1.0, 3.9, 4.0, 4.1, 9.0})
    for (const double step : settled_steps(reading(8, 2), compute, 12)) {
      INFO("compute " << compute);
      CHECK(step == Approx(std::max(compute, 4.0)));
    }
}

TEST_CASE("a batch is never there before a worker can have read it", "[data]") {
  // Fresh loader of one worker: its first batch is done after 8 / 2 = 4 s and not a moment sooner.
  DataSupply supply(reading(8, 2));
  supply.ask(0, 0);
  supply.advance(4 - 1e-9);
  CHECK(supply.take_served().empty());
  supply.advance(4);
  CHECK(supply.take_served() == std::vector<std::uint32_t>{0});
  CHECK(supply.ready_at(0) == Approx(4));
}

TEST_CASE("no more batches than the prefetch depth are read ahead", "[data]") {
  // 4 s a batch, 3 places. Nobody takes anything until 100 s: three batches wait. Then batches are
  // taken at once: three are there, the fourth was begun when the first was taken, at 100 s.
  DataSupply supply(reading(8, 2, 1, 3));
  for (int batch = 0; batch < 3; ++batch) {
    supply.ask(0, 100);
    CHECK(supply.take_served().size() == 1);
  }
  supply.ask(0, 100);
  CHECK(supply.take_served().empty());
  CHECK(supply.next_event() == Approx(104));
}

TEST_CASE("workers multiply the decoding rate until the cores run out", "[data]") {
  // 2 core-seconds a batch on 4 cores: 1 worker 0.5 batches/s, 2: 1, 4: 2, 8: still 4 / 2 = 2.
  for (const auto& [workers, per_second] : {std::pair{1, 0.5}, {2, 1.0}, {4, 2.0}, {8, 2.0}}) {
    SupplySpec spec = one_host(1, workers, 2 * workers);
    spec.hosts[0].capacity[2] = 4;
    spec.batch = {{Station::cores, 2, 1}};
    INFO(workers << " workers");
    CHECK(round_seconds(spec) == Approx(1 / per_second));
    // The same at the training's side: steps that compute less take as long as the loaders.
    for (const double step : settled_steps(spec, 0.1, 8)) CHECK(step == Approx(1 / per_second));
  }
}

TEST_CASE("reading and decoding of one worker add up and of two overlap", "[data]") {
  // 3 s reading (one stream of 1 byte/s), 2 s decoding: 5 s with one worker, 2.5 s with two.
  SupplySpec spec = one_host(1, 1, 4);
  spec.batch = {{Station::storage, 3, 1}, {Station::cores, 2, 1}};
  CHECK(round_seconds(spec) == Approx(5));
  spec.workers = 2;
  CHECK(round_seconds(spec) == Approx(2.5));
}

TEST_CASE("processes of a host share its storage and cores", "[data]") {
  // 4 processes x 8 bytes over 16 bytes/s: 2 s; one of them alone: 0.5 s.
  SupplySpec spec = one_host(4, 1, 2);
  spec.hosts[0].capacity[0] = 16;
  spec.batch = {{Station::storage, 8, kInf}};
  CHECK(round_seconds(spec) == Approx(2));
  spec.consumers.resize(1);
  CHECK(round_seconds(spec) == Approx(0.5));
}

TEST_CASE("hosts share the storage behind them and one that stands for many counts as many",
          "[data]") {
  // 8 bytes for each of 10 hosts at 20 bytes/s together: 4 s, whether hosts are simulated one by
  // one or as one of multiplicity 10; alone a host would read at 16 bytes/s in 0.5 s.
  SupplySpec folded = reading(8, 16);
  folded.shared_storage = 20;
  folded.hosts[0].multiplicity = 10;
  CHECK(round_seconds(folded) == Approx(4));
  SupplySpec unfolded = folded;
  unfolded.hosts[0].multiplicity = 1;
  unfolded.hosts.assign(10, unfolded.hosts[0]);
  unfolded.consumers.clear();
  for (std::uint32_t h = 0; h < 10; ++h) unfolded.consumers.push_back({h});
  CHECK(round_seconds(unfolded) == Approx(round_seconds(folded)).epsilon(1e-12));
}

TEST_CASE("what a host cannot use of the common storage goes to the others", "[data]") {
  // 10 bytes/s for two hosts; the first takes at most 2: the second gets 8. 8 bytes each: 4 s and
  // 1 s for the first batch.
  SupplySpec spec;
  spec.hosts = {{.capacity = {2, kInf, kInf, kInf}}, {.capacity = {kInf, kInf, kInf, kInf}}};
  spec.consumers = {{0}, {1}};
  spec.batch = {{Station::storage, 8, kInf}};
  spec.workers = 1;
  spec.prefetch = 1;
  spec.shared_storage = 10;
  DataSupply supply(spec);
  supply.ask(0, 0);
  supply.ask(1, 0);
  supply.advance(1);
  CHECK(supply.take_served() == std::vector<std::uint32_t>{1});
  supply.advance(4 - 1e-9);
  CHECK(supply.take_served().empty());
  supply.advance(4);
  CHECK(supply.take_served() == std::vector<std::uint32_t>{0});
}

TEST_CASE("a consumer of several processes waits for the slowest", "[data]") {
  // Processes on hosts of 4 and 1 bytes/s, 8 bytes each: 2 s and 8 s.
  SupplySpec spec;
  spec.hosts = {{.capacity = {4, kInf, kInf, kInf}}, {.capacity = {1, kInf, kInf, kInf}}};
  spec.consumers = {{0, 1}};
  spec.batch = {{Station::storage, 8, kInf}};
  spec.workers = 1;
  spec.prefetch = 1;
  DataSupply supply(spec);
  supply.ask(0, 0);
  supply.advance(7.999);
  CHECK(supply.take_served().empty());
  supply.advance(8);
  CHECK(supply.take_served().size() == 1);
}

TEST_CASE("prefetch hides jitter of the latency and not its mean", "[data]") {
  // Reading takes 1 s on average, all of it latency with sigma 0.8. Computing 1.3 s: the loader
  // keeps up on average, and more places bring the mean step down towards 1.3 s. Computing 0.7 s:
  // however many places, 1 s.
  const auto mean_step = [](int prefetch, double compute) {
    SupplySpec spec = one_host(1, 1, prefetch);
    spec.batch = {{Station::storage, 1, 1}};
    spec.latency_share = 1;
    spec.latency_sigma = 0.8;
    DataSupply supply(spec);
    supply.settle_in(compute, 1);
    constexpr int kSteps = 6000;
    double sum = 0;
    for (const double step : steps(supply, compute, kSteps)) sum += step;
    return sum / kSteps;
  };
  const double shallow = mean_step(1, 1.3), deep = mean_step(4, 1.3), deepest = mean_step(64, 1.3);
  CHECK(shallow > deep * 1.02);
  CHECK(deep > deepest * 1.005);
  CHECK(deepest == Approx(1.3).epsilon(0.02));
  for (const int prefetch : {64, 256}) CHECK(mean_step(prefetch, 0.7) == Approx(1).epsilon(0.03));
}

TEST_CASE("without workers a batch is read while the training waits", "[data]") {
  // 4 s reading and 3 s computing one after the other.
  for (const double step : settled_steps(reading(8, 2, 0, 0), 3, 5)) CHECK(step == Approx(7));
}

TEST_CASE("a batch that costs nothing is always there", "[data]") {
  for (const double amount : {0.0, 8.0}) {
    SupplySpec spec = one_host(2, 3, 4);
    spec.batch = {{Station::storage, amount, kInf}, {Station::cores, 0, 1}};
    CHECK(round_seconds(spec) < 1e-12);
    SupplySpec alone = one_host(1, 1, 1);
    alone.batch = spec.batch;
    for (const double step : settled_steps(alone, 2, 3)) CHECK(step == Approx(2));
  }
  SupplySpec empty = one_host(1, 1, 3);
  CHECK(round_seconds(empty) == 0);
}

TEST_CASE("the loaders keep their phase when the clock is set to the middle of a run", "[data]") {
  // 4 workers of 4 s each deliver a batch per second; after settling the k-th of six immediate
  // asks is served 1 s after the one before.
  SupplySpec spec = one_host(1, 4, 8);
  spec.batch = {{Station::storage, 4, 1}};
  DataSupply supply(spec);
  supply.settle_in(0.5, 1);
  CHECK(supply.now() == 0);
  for (const double step : steps(supply, 0, 6)) CHECK(step == Approx(1).margin(0.51));
  double sum = 0;
  for (const double step : steps(supply, 0, 8)) sum += step;
  CHECK(sum == Approx(8));
}

TEST_CASE("recorded spans show reading and then decoding of every batch", "[data]") {
  // One worker: 3 s reading, 2 s decoding, 5 s a batch.
  SupplySpec spec = one_host(1, 1, 1);
  spec.batch = {{Station::storage, 3, 1}, {Station::cores, 2, 1}};
  DataSupply supply(spec);
  supply.record(1);
  supply.ask(0, 0);
  supply.advance(6);
  const std::vector<LoaderSpan> spans = supply.spans();
  REQUIRE(spans.size() == 3);  // read, decode, and the second read as far as it got
  CHECK(spans[0].station == Station::storage);
  CHECK(spans[0].end == Approx(3));
  CHECK(spans[1].station == Station::cores);
  CHECK(spans[1].start == Approx(3));
  CHECK(spans[1].end == Approx(5));
  CHECK(spans[2].station == Station::storage);
  CHECK(spans[2].start == Approx(5));
  CHECK(spans[2].end == Approx(6));
}

TEST_CASE("more of any resource never makes the loaders slower", "[data]") {
  // Up to 2 %: a count over whole batches is blurred by those in work at its ends.
  constexpr double kSame = 1.02;
  const auto pace = [](double storage, double cores, double shared, int workers, double cap) {
    SupplySpec spec = one_host(3, workers, 2 * workers);
    spec.hosts[0].capacity = {storage, kInf, cores, kInf};
    spec.hosts[0].multiplicity = 5;
    spec.shared_storage = shared;
    spec.batch = {{Station::storage, 8, cap}, {Station::cores, 2, 1}};
    return round_seconds(spec);
  };
  const double base = pace(6, 3, 40, 3, 2);
  CHECK(pace(12, 3, 40, 3, 2) <= base * kSame);
  CHECK(pace(6, 6, 40, 3, 2) <= base * kSame);
  CHECK(pace(6, 3, 80, 3, 2) <= base * kSame);
  CHECK(pace(6, 3, 40, 6, 2) <= base * kSame);
  CHECK(pace(6, 3, 40, 3, 4) <= base * kSame);
  CHECK(pace(3, 3, 40, 3, 2) > base);  // storage binds: 3 x 8 / 6 = 4 s
}
