// What the slices of a simulated trace say about the data they move.
#include <algorithm>
#include <map>

#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
Forecast recorded(const Scenario& scenario) {
  SimulateOptions options{.engine = EngineKind::native, .execute = {}};
  options.execute.record_timeline = true;
  options.execute.detail_workers = 1;
  return simulate(scenario, small_profile(), options);
}
/// Payloads of one rank's spans of a category, each with what the trace says of it.
std::vector<Payload> moved(const Timeline& t, int rank, Category category) {
  std::vector<Payload> found;
  for (const Span& span : t.spans)
    if (t.tracks[span.track].rank == rank && span.category == category && span.payload >= 0)
      found.push_back(t.payloads[static_cast<std::size_t>(span.payload)]);
  return found;
}
}  // namespace

TEST_CASE("gradient slices of every rank carry the bytes of all gradients", "[trace]") {
  // tp 8 on 4 nodes: a rank's group of 4 reduces every parameter of its shard once, 4 bytes each.
  Scenario scenario = small_scenario(4, {.tp = 8, .dp = 0});
  scenario.run.fold = false;
  const Forecast f = recorded(scenario);
  double parameters = 0;
  for (const std::vector<int>& kinds : {f.work.before, f.work.blocks, f.work.after})
    for (const int kind : kinds)
      parameters +=
          static_cast<double>(f.work.kinds[static_cast<std::size_t>(kind)].dense_parameters);
  const Timeline& t = *f.outcome.timeline;
  for (const int rank : {0, 8, 16, 24}) {
    std::int64_t bytes = 0;
    for (const Payload& p : moved(t, rank, Category::exposed_dp)) {
      REQUIRE(p.collective == "all_reduce");
      REQUIRE(p.group == "dp: rank 0");
      REQUIRE(p.group_size == 4);
      bytes += p.bytes;
    }
    REQUIRE(static_cast<double>(bytes) == Approx(4 * parameters).epsilon(1e-9));
  }
  // Waiting moves nothing.
  REQUIRE(moved(t, 0, Category::straggler_wait).empty());
}

TEST_CASE("tensor-parallel slices of a detailed rank carry its activations", "[trace]") {
  Scenario scenario = small_scenario(2, {.tp = 8, .dp = 0}, 1);
  const auto activations_of = [&] {
    std::map<std::int64_t, int> count;
    const Forecast f = recorded(scenario);
    for (const Payload& p : moved(*f.outcome.timeline, 0, Category::exposed_tp)) {
      if (p.collective != "all_reduce") continue;
      REQUIRE(p.group == "tp: rank 0");
      REQUIRE(p.group_size == 8);
      ++count[p.bytes];
    }
    return count;
  };
  // 1 sample x 1024 tokens x 1024 x 2 bytes; behind attention and MLP of 8 layers, forward and
  // backward.
  constexpr std::int64_t kActivations = 2 * 1024 * 1024;
  REQUIRE(activations_of()[kActivations] >= 2 * 2 * 8);
  // Half of it hidden: the time that is left says nothing of the wire.
  scenario.strategy.tp_overlap = 0.5;
  REQUIRE(activations_of()[kActivations] < 2 * 2 * 8);
}
