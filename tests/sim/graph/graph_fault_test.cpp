#include "tests/support/test.hpp"
#include "tests/support/tiny_step.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
StepGraph sound() { return build_step_graph(tiny_scenario(2, 2, 2), tiny_work(2)); }
GraphOp& first(StepGraph& graph, std::size_t stage, GraphOp::Kind kind) {
  for (GraphOp& op : graph.stages[stage].ops)
    if (op.kind == kind) return op;
  throw std::runtime_error("the stage has no such op");
}
}  // namespace

TEST_CASE("a graph that loses a receive names the message", "[graph]") {
  StepGraph graph = sound();
  GraphOp& receive = first(graph, 1, GraphOp::Kind::recv);
  receive.tag += 1000;
  REQUIRE_THAT(graph_fault(graph), Catch::Contains("is sent and never received"));
}
TEST_CASE("a graph whose message changes its size on the way says so", "[graph]") {
  StepGraph graph = sound();
  first(graph, 1, GraphOp::Kind::recv).buffer = Bytes(7);
  REQUIRE_THAT(graph_fault(graph),
               Catch::Contains("100 bytes at its source and 7 at its destination"));
}
TEST_CASE("a graph that waits in a circle names an op of it", "[graph]") {
  StepGraph graph = sound();
  // The first work waits for the last op of its own stage.
  first(graph, 0, GraphOp::Kind::work)
      .after.push_back(static_cast<int>(graph.stages[0].ops.size()) - 1);
  REQUIRE_THAT(graph_fault(graph), Catch::Contains("can never start"));
}
TEST_CASE("a graph that waits for an op that does not exist is refused", "[graph]") {
  StepGraph graph = sound();
  first(graph, 0, GraphOp::Kind::work).after.push_back(100000);
  REQUIRE_THAT(graph_fault(graph), Catch::Contains("waits for an op that does not exist"));
}
