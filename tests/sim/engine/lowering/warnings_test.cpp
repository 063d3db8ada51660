#include "sim/engine/lowering/warnings.hpp"

#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
std::string warnings_of(int nodes, ParallelLayout layout, auto change) {
  Scenario scenario = small_scenario(nodes, layout);
  change(scenario);
  std::string text;
  for (const std::string& line : inputs_without_effect(
           scenario, model_work(scenario.model, scenario.training, scenario.parallel)))
    text += line + "\n";
  return text;
}
}  // namespace

TEST_CASE("an ordinary scenario has no dead inputs", "[warnings]") {
  ParallelLayout layout;
  layout.tp = 8;
  layout.dp = 0;
  REQUIRE(warnings_of(4, layout, [](Scenario&) {}).empty());
}

TEST_CASE("each input without effect is named with its reason", "[warnings]") {
  ParallelLayout alone;
  alone.tp = 8;
  ParallelLayout data;
  data.dp = 0;
  const auto contains = [](const char* text) { return Catch::Contains(text); };
  REQUIRE_THAT(
      warnings_of(1, alone, [](Scenario& s) { s.compression.scheme = CompressionScheme::topk; }),
      contains("/compression: topk has no effect: dp x cp is 1"));
  REQUIRE_THAT(warnings_of(1, alone, [](Scenario& s) { s.parallel.zero_stage = 1; }),
               contains("/parallel/zero_stage: 1 has no effect"));
  REQUIRE_THAT(warnings_of(2, data, [](Scenario& s) { s.strategy.tp_overlap = 0.5; }),
               contains("/strategy/tp_overlap has no effect: tp is 1"));
  REQUIRE_THAT(warnings_of(2, data, [](Scenario& s) { s.parallel.sequence_parallel = true; }),
               contains("/parallel/sequence_parallel"));
  REQUIRE_THAT(warnings_of(2, data,
                           [](Scenario& s) {
                             s.stragglers = {{{{10, 16}}, "", 1.2, 0, 0}};
                           }),
               contains("10-16 reaches beyond the last rank (15)"));
  REQUIRE_THAT(warnings_of(2, data,
                           [](Scenario& s) {
                             s.stragglers = {{{}, "no_such_op", 1.2, 0, 0}};
                           }),
               contains("no compute op is called no_such_op"));
  REQUIRE_THAT(warnings_of(2, data, [](Scenario& s) { s.strategy.overlap_grad_reduce = false; }),
               contains("/strategy/bucket_MiB has no effect"));
  REQUIRE_THAT(warnings_of(2, data, [](Scenario& s) { s.strategy.overlap_param_gather = true; }),
               contains("/strategy/overlap_param_gather"));
  REQUIRE_THAT(warnings_of(2, data, [](Scenario& s) { s.parallel.shard_size = 8; }),
               contains("/parallel/shard_size"));
  REQUIRE_THAT(warnings_of(2, data, [](Scenario& s) { s.run.runs = 5; }),
               contains("nothing in the scenario is random"));
  REQUIRE_THAT(warnings_of(2, data,
                           [](Scenario& s) {
                             s.compression.scheme = CompressionScheme::dgc;
                             s.compression.warmup_steps = 8;
                             s.sync.mode = SyncMode::async;
                             s.sync.server.count = 2;
                             s.run.steps = 20;
                           }),
               contains("/compression/warmup_steps has no effect beside /sync"));
  REQUIRE_THAT(
      warnings_of(1, alone, [](Scenario& s) { s.cluster.placement = PlacementKind::random; }),
      contains("/cluster/placement"));
}
