// No step beats physics.
#include "sim/cost/cost_model.hpp"
#include "sim/graph/step_graph.hpp"
#include "tests/fidelity/conservation/layout_kinds.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("a step is never shorter than the roofline of its stage's kernels",
          "[conservation][fidelity]") {
  for (const LayoutKind& kind : layout_kinds()) {
    const Scenario scenario = job(kind.settings);
    const Profile profile = profile_of(scenario).value_or_throw();
    const CostModel cost(profile, scenario.cluster.groups.front().spec.gpu, {});
    const StepGraph graph = build_step_graph(
        scenario, model_work(scenario.model, scenario.training, scenario.parallel));
    const double step = forecast(scenario).outcome.step_s;
    double least = 0;
    for (const StageGraph& stage : graph.stages) {
      double roofline = 0;
      for (const GraphOp& op : stage.ops) {
        if (op.kind != GraphOp::Kind::work) continue;
        for (const Op& kernel : stage.works[static_cast<std::size_t>(op.work)].ops)
          if (!kernel.is_collective()) roofline += cost.roofline(kernel).value;
      }
      least = std::max(least, roofline);
    }
    INFO(kind.name);
    CHECK(least > 0);
    CHECK(step >= least);
  }
}

TEST_CASE("a step is never shorter than its model flops at peak", "[conservation][fidelity]") {
  for (const LayoutKind& kind : layout_kinds()) {
    const Scenario scenario = job(kind.settings);
    const Forecast f = forecast(scenario);
    const double flops =
        f.work.model_flops_per_sample.value * static_cast<double>(scenario.training.global_batch);
    INFO(kind.name);
    CHECK(f.outcome.step_s >= flops / (scenario.parallel.world() * 989e12));
  }
}

TEST_CASE("bus bandwidth never exceeds what the links allow", "[conservation][fidelity]") {
  // n ranks, r = 8 per node, N nodes. Across nodes each node must pass (N-1)/N of the buffer
  // (all-to-all: of 8 buffers) through its port of 400 GB/s, while busbw counts (n-1)/n of it:
  // busbw <= 400 GB/s x (n-1)/n x N/(N-1), an eighth of that for all-to-all. In a node a GPU passes
  // (n-1)/n of the buffer over 450 GB/s; where the switch adds, S in place of 2 (n-1)/n S.
  const Profile profile = profile_of(job()).value_or_throw();
  for (const int nodes : {1, 2, 8})
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather,
                                        Collective::reduce_scatter, Collective::all_to_all}) {
      Scenario scenario =
          job({"/cluster/nodes=" + std::to_string(nodes), "/training/global_batch=64"});
      scenario.collective_sweep =
          CollectiveSweep{collective,
                          {Bytes(1 << 10), Bytes(1 << 20), Bytes(std::int64_t{1} << 30),
                           Bytes(std::int64_t{1} << 34)},
                          0};
      const double n = 8.0 * nodes;
      double most = 450e9 * (collective == Collective::all_reduce ? 2 * (n - 1) / n : 1);
      if (nodes > 1)
        most = 400e9 * (n - 1) / n * nodes / (nodes - 1.0) /
               (collective == Collective::all_to_all ? 8 : 1);
      for (const SweepPoint& point : simulate_collectives(scenario, profile, EngineKind::native)) {
        INFO(text_of(collective) << " of " << point.size.value << " B on " << nodes << " nodes");
        CHECK(point.busbw <= most);
        CHECK(point.busbw > 0);
      }
    }
}
