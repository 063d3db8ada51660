#include "sim/engine/lowering/folding.hpp"

#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
struct Case {
  std::string name;
  ParallelLayout layout;
};

std::vector<Case> layout_kinds() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, int tp, int pp, int cp, auto change) {
    ParallelLayout layout;
    layout.tp = tp;
    layout.pp = pp;
    layout.cp = cp;
    layout.dp = 0;
    change(layout);
    cases.push_back({std::move(name), layout});
  };
  const auto nothing = [](ParallelLayout&) {};
  add("dp", 1, 1, 1, nothing);
  add("tp8", 8, 1, 1, [](ParallelLayout& l) { l.sequence_parallel = true; });
  add("tp4", 4, 1, 1, nothing);
  add("tp2 pp2", 2, 2, 1, nothing);
  add("tp8 pp4", 8, 4, 1, nothing);
  add("tp4 pp2 beside each other", 4, 2, 1, [](ParallelLayout& l) {
    l.rank_order = {Axis::tp, Axis::cp, Axis::pp, Axis::dp};
  });
  add("tp8 pp2 interleaved", 8, 2, 1, [](ParallelLayout& l) {
    l.schedule = ScheduleKind::interleaved;
    l.virtual_stages = 2;
  });
  add("tp8 pp4 zero-bubble", 8, 4, 1,
      [](ParallelLayout& l) { l.schedule = ScheduleKind::zero_bubble; });
  add("tp8 pp4 gpipe", 8, 4, 1, [](ParallelLayout& l) { l.schedule = ScheduleKind::gpipe; });
  add("zero 1", 2, 2, 1, [](ParallelLayout& l) { l.zero_stage = 1; });
  add("zero 2", 1, 1, 1, [](ParallelLayout& l) { l.zero_stage = 2; });
  add("fsdp", 1, 1, 1, [](ParallelLayout& l) { l.zero_stage = 3; });
  add("fsdp tp", 4, 1, 1, [](ParallelLayout& l) { l.zero_stage = 3; });
  add("hsdp", 1, 1, 1, [](ParallelLayout& l) {
    l.zero_stage = 3;
    l.shard_size = 8;
  });
  add("cp", 2, 1, 4, nothing);
  add("cp across nodes", 2, 1, 8, nothing);
  add("cp all-to-all", 1, 2, 8, [](ParallelLayout& l) { l.context = ContextKind::all_to_all; });
  return cases;
}
Scenario mixture(Scenario scenario) {
  scenario.model.kind = ModelKind::moe;
  MixtureSpec moe;
  moe.experts = 16;
  moe.top_k = 2;
  moe.expert_ffn = 2048;
  scenario.model.transformer.moe = moe;
  return scenario;
}
void require_equal_folded_and_unfolded(Scenario scenario, bool must_fold) {
  SimulateOptions options;
  options.engine = EngineKind::native;
  const Forecast folded = simulate(scenario, small_profile(), options);
  scenario.run.fold = false;
  const Forecast unfolded = simulate(scenario, small_profile(), options);
  REQUIRE_FALSE(unfolded.is_folded);
  if (must_fold) REQUIRE(folded.is_folded);
  REQUIRE(folded.outcome.step_s > 0);
  REQUIRE(folded.outcome.step_s == Approx(unfolded.outcome.step_s).epsilon(1e-9));
  for (std::size_t c = 0; c < kCategories; ++c) {
    INFO("category " << text_of(static_cast<Category>(c)));
    REQUIRE(std::abs(folded.outcome.breakdown[c] - unfolded.outcome.breakdown[c]) <=
            1e-9 * unfolded.outcome.step_s);
  }
  for (std::size_t kind = 0; kind < kGroupKinds; ++kind)
    REQUIRE(folded.outcome.payload_bytes[kind] ==
            Approx(unfolded.outcome.payload_bytes[kind]).epsilon(1e-9));
}
}  // namespace

TEST_CASE("a folded step equals the unfolded one on every layout kind", "[lowering][fidelity]") {
  for (int nodes : {4, 16})
    for (const Case& c : layout_kinds()) {
      INFO(c.name << " on " << nodes << " nodes");
      // One unit has nothing to fold onto; HSDP and context groups may pair nodes unevenly and then
      // stay apart.
      const bool fills_units = nodes == 16 && c.name != "hsdp";
      require_equal_folded_and_unfolded(small_scenario(nodes, c.layout), fills_units);
    }
}

TEST_CASE("a folded mixture of experts equals the unfolded one", "[lowering][fidelity]") {
  for (int nodes : {4, 8})
    for (int ep : {4, 8, 16}) {
      ParallelLayout layout;
      layout.dp = 0;
      layout.ep = ep;
      INFO("ep " << ep << " on " << nodes << " nodes");
      require_equal_folded_and_unfolded(mixture(small_scenario(nodes, layout)), ep <= 8);
    }
}

TEST_CASE("sixty-four nodes fold into one replica", "[lowering][fidelity]") {
  ParallelLayout layout;
  layout.tp = 8;
  layout.pp = 4;
  layout.dp = 0;
  require_equal_folded_and_unfolded(small_scenario(64, layout), true);
  SimulateOptions options;
  options.engine = EngineKind::native;
  REQUIRE(simulate(small_scenario(64, layout), small_profile(), options).simulated_workers == 4);
}

TEST_CASE("what tells replicas apart keeps them apart", "[lowering]") {
  ParallelLayout layout;
  layout.tp = 8;
  layout.dp = 0;
  const Scenario plain = small_scenario(8, layout);
  SimulateOptions options;
  options.engine = EngineKind::native;
  const auto is_folded = [&](auto change) {
    Scenario scenario = plain;
    change(scenario);
    return simulate(scenario, small_profile(), options).is_folded;
  };
  REQUIRE(is_folded([](Scenario&) {}));
  REQUIRE_FALSE(is_folded([](Scenario& s) { s.run.fold = false; }));
  REQUIRE_FALSE(is_folded([](Scenario& s) { s.stragglers = {{{{3, 3}}, "", 1.2, 0, 0}}; }));
  REQUIRE_FALSE(is_folded([](Scenario& s) { s.stragglers = {{{}, "", 1, 0.02, 0}}; }));
  REQUIRE_FALSE(is_folded([](Scenario& s) { s.cluster.fabric.oversubscription = 4; }));
  REQUIRE_FALSE(is_folded([](Scenario& s) { s.cluster.fabric.routing = Routing::hashed; }));
  REQUIRE_FALSE(is_folded([](Scenario& s) { s.cluster.link_events = {{0, 0.0, 0.5}}; }));
}
