#include <algorithm>

#include "tests/support/test.hpp"
#include "tests/support/tiny_step.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
StageGraph fsdp(Scenario scenario, int blocks) {
  scenario.parallel.zero_stage = 3;
  const StepGraph graph = build_step_graph(scenario, tiny_work(blocks));
  REQUIRE(graph_fault(graph) == "");
  return graph.stages[0];
}
std::vector<std::size_t> indices(const StageGraph& graph, auto wanted) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    if (wanted(graph.ops[i])) found.push_back(i);
  return found;
}
std::vector<std::size_t> gathers(const StageGraph& graph) {
  return indices(graph, [](const GraphOp& op) { return op.name == op::param_gather; });
}
std::vector<std::size_t> works(const StageGraph& graph) {
  return indices(graph, [](const GraphOp& op) {
    return op.name == phase::forward || op.name == phase::backward;
  });
}
}  // namespace

TEST_CASE("FSDP gathers each layer before forward and again before backward", "[graph]") {
  // Layers: embedding, 3 blocks, head. Forward gathers 5; backward gathers all but the head, which
  // is still there: 4.
  const StageGraph graph = fsdp(tiny_scenario(1, 4, 1), 3);
  REQUIRE(gathers(graph).size() == 9);
  std::int64_t bytes = 0;
  for (std::size_t i : gathers(graph)) bytes += graph.ops[i].buffer.value;
  REQUIRE(bytes == 2 * (95 + 85));  // bf16; 95 parameters forward, 85 without the head backward
  const auto reduced = indices(graph, [](const GraphOp& op) { return op.name == op::grad_reduce; });
  REQUIRE(reduced.size() == 5);
  REQUIRE(graph.ops[reduced[0]].collective == Collective::reduce_scatter);
}

TEST_CASE("without resharding backward gathers nothing", "[graph]") {
  Scenario scenario = tiny_scenario(1, 4, 1);
  scenario.strategy.reshard_after_forward = false;
  REQUIRE(gathers(fsdp(scenario, 3)).size() == 5);
}

TEST_CASE("gradient accumulation gathers and reduces per micro-batch", "[graph]") {
  const StageGraph graph = fsdp(tiny_scenario(1, 4, 3), 3);
  REQUIRE(gathers(graph).size() == 27);
  REQUIRE(indices(graph, [](const GraphOp& op) { return op.name == op::grad_reduce; }).size() ==
          15);
}

TEST_CASE("a gather runs beside the layers before it as far ahead as prefetch says", "[graph]") {
  for (int prefetch : {0, 1, 2}) {
    Scenario scenario = tiny_scenario(1, 4, 1);
    scenario.strategy.prefetch = prefetch;
    const StageGraph graph = fsdp(scenario, 4);
    const std::vector<std::size_t> forward = works(graph), gather = gathers(graph);
    // The gather of forward layer k starts when layer k - prefetch - 1 has run.
    for (int k = 0; k < 6; ++k) {
      const std::vector<int>& after = graph.ops[gather[static_cast<std::size_t>(k)]].after;
      const int expected = k - prefetch - 1;
      INFO("prefetch " << prefetch << " layer " << k);
      if (expected < 0)
        REQUIRE(after.empty());
      else
        REQUIRE(after ==
                std::vector<int>{static_cast<int>(forward[static_cast<std::size_t>(expected)])});
    }
  }
}

TEST_CASE("the next micro-batch's first gather waits for the compute before it", "[graph]") {
  const StageGraph graph = fsdp(tiny_scenario(1, 4, 2), 2);
  const std::vector<std::size_t> work = works(graph), gather = gathers(graph);
  // 4 layers: 8 works and 7 gathers per micro-batch; the 8th gather opens the second forward.
  REQUIRE(graph.ops[gather[7]].after == std::vector<int>{static_cast<int>(work[7])});
}

TEST_CASE("in a pipeline FSDP keeps layers over micro-batches and reduces once", "[graph]") {
  Scenario scenario = tiny_scenario(2, 4, 4);
  scenario.strategy.reshard_after_forward = false;
  const StageGraph graph = fsdp(scenario, 4);  // stage 0: embedding and 2 blocks
  REQUIRE(gathers(graph).size() == 3);
  REQUIRE(indices(graph, [](const GraphOp& op) {
            return op.name == op::grad_reduce && op.group == GroupKind::dp;
          }).size() == 3);
}
