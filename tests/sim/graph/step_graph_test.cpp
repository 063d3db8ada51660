#include "sim/graph/step_graph.hpp"

#include <algorithm>

#include "tests/support/test.hpp"
#include "tests/support/tiny_step.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
std::vector<GraphOp> ops_where(const StageGraph& graph, auto wanted) {
  std::vector<GraphOp> found;
  std::copy_if(graph.ops.begin(), graph.ops.end(), std::back_inserter(found), wanted);
  return found;
}
std::vector<GraphOp> collectives(const StageGraph& graph, std::string_view name) {
  return ops_where(graph, [&](const GraphOp& op) {
    return op.kind == GraphOp::Kind::collective && op.name == name;
  });
}
std::vector<std::int64_t> buffers(const std::vector<GraphOp>& ops) {
  std::vector<std::int64_t> bytes;
  for (const GraphOp& op : ops) bytes.push_back(op.buffer.value);
  return bytes;
}
}  // namespace

TEST_CASE("plain data parallel reduces every gradient byte once", "[graph]") {
  // 4 blocks of 25 + embedding 10 + head 10 = 120 parameters, fp32 gradients: 480 bytes.
  Scenario scenario = tiny_scenario(1, 4, 3);
  const StepGraph graph = build_step_graph(scenario, tiny_work(4));
  REQUIRE(graph_fault(graph).empty());
  const std::vector<GraphOp> reduced = collectives(graph.stages[0], op::grad_reduce);
  REQUIRE(buffers(reduced) == std::vector<std::int64_t>{480});
  REQUIRE(reduced[0].collective == Collective::all_reduce);
  REQUIRE(reduced[0].group == GroupKind::dp);
}

TEST_CASE("gradient buckets close at the parameter that fills them and leave while backward runs",
          "[graph]") {
  // Backward order: head 10, block matrices 25 each, embedding 10 (fp32: 40, 100, 100, 40 bytes).
  // Limit 120 bytes: head + block = 140 closes; block 100 + embedding 40 = 140 closes.
  Scenario scenario = tiny_scenario(1, 2, 1);
  scenario.strategy.bucket_bytes = Bytes(120);
  const StageGraph stage = build_step_graph(scenario, tiny_work(2)).stages[0];
  const std::vector<GraphOp> reduced = collectives(stage, op::grad_reduce);
  REQUIRE(buffers(reduced) == std::vector<std::int64_t>{140, 140});
  // The first leaves after the first piece of the backward: head (2 ops) and the last block (2
  // ops).
  REQUIRE(reduced[0].after.size() == 1);
  const GraphOp& piece = stage.ops[static_cast<std::size_t>(reduced[0].after[0])];
  REQUIRE(piece.name == phase::backward);
  REQUIRE(stage.works[static_cast<std::size_t>(piece.work)].ops.size() == 4);

  SECTION("a smaller first bucket leaves earlier") {
    scenario.strategy.first_bucket_bytes = Bytes(40);
    const StageGraph early = build_step_graph(scenario, tiny_work(2)).stages[0];
    // head 40 | block + block = 200 | embedding 40
    REQUIRE(buffers(collectives(early, op::grad_reduce)) == std::vector<std::int64_t>{40, 200, 40});
  }
  SECTION("without overlap everything leaves once after the backward") {
    scenario.strategy.overlap_grad_reduce = false;
    const StageGraph late = build_step_graph(scenario, tiny_work(2)).stages[0];
    const std::vector<GraphOp> all = collectives(late, op::grad_reduce);
    REQUIRE(buffers(all) == std::vector<std::int64_t>{280});
    const GraphOp& before = late.ops[static_cast<std::size_t>(all[0].after[0])];
    REQUIRE(late.works[static_cast<std::size_t>(before.work)].ops.size() ==
            7);  // the whole backward
  }
}

TEST_CASE("only the last of several micro-batches reduces", "[graph]") {
  const StageGraph stage = build_step_graph(tiny_scenario(1, 2, 5), tiny_work(2)).stages[0];
  const std::vector<GraphOp> reduced = collectives(stage, op::grad_reduce);
  REQUIRE(reduced.size() == 1);
  REQUIRE(stage.ops[static_cast<std::size_t>(reduced[0].after[0])].micro_batch == 4);
}

TEST_CASE("ZeRO 1 scatters gradients and gathers 2-byte parameters after the optimizer",
          "[graph]") {
  Scenario scenario = tiny_scenario(1, 4, 2);
  scenario.parallel.zero_stage = 1;
  const StageGraph stage = build_step_graph(scenario, tiny_work(4)).stages[0];
  const std::vector<GraphOp> reduced = collectives(stage, op::grad_reduce),
                             gathered = collectives(stage, op::param_gather);
  REQUIRE(buffers(reduced) == std::vector<std::int64_t>{480});
  REQUIRE(reduced[0].collective == Collective::reduce_scatter);
  REQUIRE(buffers(gathered) == std::vector<std::int64_t>{240});  // 120 parameters in bf16
  REQUIRE(stage.ops[static_cast<std::size_t>(gathered[0].after[0])].name == phase::optimizer);

  SECTION("overlapped it opens the step and the first forward waits for it bucket by bucket") {
    scenario.strategy.overlap_param_gather = true;
    scenario.strategy.bucket_bytes = Bytes(200);
    const StageGraph next = build_step_graph(scenario, tiny_work(4)).stages[0];
    // Forward order, cut by gradient bytes 200: embedding + 2 blocks (240), 2 blocks (200), head
    // (40); in bf16 half of it.
    REQUIRE(buffers(collectives(next, op::param_gather)) ==
            std::vector<std::int64_t>{120, 100, 20});
    REQUIRE(next.ops[0].name == op::param_gather);
    const std::vector<GraphOp> forwards = ops_where(
        next, [](const GraphOp& op) { return op.name == phase::forward && op.micro_batch == 0; });
    REQUIRE(forwards.size() == 3);
    REQUIRE(forwards[1].after == std::vector<int>{1});
  }
}

TEST_CASE("hybrid sharding scatters within the shard group and reduces its share across",
          "[graph]") {
  Scenario scenario = tiny_scenario(1, 8, 1);
  scenario.parallel.zero_stage = 2;
  scenario.parallel.shard_size = 4;
  const std::vector<GraphOp> reduced =
      collectives(build_step_graph(scenario, tiny_work(4)).stages[0], op::grad_reduce);
  REQUIRE(buffers(reduced) == std::vector<std::int64_t>{480, 120});
  REQUIRE(reduced[0].group == GroupKind::dp_shard);
  REQUIRE(reduced[1].group == GroupKind::dp_replicate);
  REQUIRE(reduced[1].collective == Collective::all_reduce);
}

TEST_CASE("every pipeline layout sends what it receives and has no circle", "[graph]") {
  for (ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                            ScheduleKind::interleaved, ScheduleKind::zero_bubble})
    for (int pp : {1, 2, 3, 4})
      for (int m : {1, 4, 7})
        for (int zero : {0, 1, 2, 3})
          for (bool overlap : {false, true}) {
            Scenario scenario = tiny_scenario(pp, 2, m);
            scenario.parallel.schedule = kind;
            scenario.parallel.virtual_stages = kind == ScheduleKind::interleaved && pp > 1 ? 3 : 1;
            scenario.parallel.zero_stage = zero;
            scenario.strategy.overlap_p2p = scenario.strategy.overlap_grad_reduce =
                scenario.strategy.overlap_param_gather = overlap;
            scenario.strategy.reshard_after_forward = overlap;
            scenario.strategy.bucket_bytes = Bytes(90);
            INFO(text_of(kind) << " pp " << pp << " m " << m << " zero " << zero << " overlap "
                               << overlap);
            const StepGraph graph = build_step_graph(scenario, tiny_work(12));
            REQUIRE(graph_fault(graph) == "");
            std::size_t sends = 0;
            for (const StageGraph& stage : graph.stages)
              sends += ops_where(stage, [](const GraphOp& op) {
                         return op.kind == GraphOp::Kind::send;
                       }).size();
            // Both directions over every boundary between pipeline positions.
            const int positions = pp * scenario.parallel.virtual_stages;
            REQUIRE(sends == static_cast<std::size_t>(pp == 1 ? 0 : 2 * (positions - 1) * m));
          }
}

TEST_CASE("blocking messages keep the next work waiting", "[graph]") {
  Scenario scenario = tiny_scenario(2, 1, 2);
  scenario.strategy.overlap_p2p = false;
  const StageGraph stage = build_step_graph(scenario, tiny_work(2)).stages[0];
  // Stage 0 of 1F1B: F0 send F1 ...: F1 waits for the send of F0.
  const auto second = std::find_if(stage.ops.begin(), stage.ops.end(), [](const GraphOp& op) {
    return op.name == phase::forward && op.micro_batch == 1;
  });
  REQUIRE(second->after.size() == 1);
  REQUIRE(stage.ops[static_cast<std::size_t>(second->after[0])].kind == GraphOp::Kind::send);
}

TEST_CASE("tied embeddings are reduced between the edge stages only", "[graph]") {
  const StepGraph graph = build_step_graph(tiny_scenario(3, 1, 3), tiny_work(3));
  for (std::size_t stage = 0; stage < 3; ++stage) {
    const std::vector<GraphOp> tied = ops_where(graph.stages[stage], [](const GraphOp& op) {
      return op.kind == GraphOp::Kind::collective && op.group == GroupKind::embedding;
    });
    REQUIRE(buffers(tied) ==
            (stage == 1 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{40}));
  }
}

TEST_CASE("embedding opens the first stage and the head closes the last", "[graph]") {
  const StepGraph graph = build_step_graph(tiny_scenario(2, 1, 1), tiny_work(2));
  REQUIRE(graph.stages[0].works[0].ops.front().name == "embedding");
  REQUIRE(graph.stages[0].works[0].ops.size() == 2);
  REQUIRE(std::get<GemmShape>(graph.stages[1].works[0].ops.back().shape).n == 5);
}

TEST_CASE("tensor parallel ranks send a part each and gather the whole behind the message",
          "[graph]") {
  // Two stages hand on 100 bytes. Four ranks that hold the same activations send 25 each and gather
  // 100; with sequence parallelism each holds its own part, which boundary bytes are already.
  Scenario scenario = tiny_scenario(2, 1, 2);
  scenario.parallel.tp = 4;
  const auto sends = [](const StageGraph& stage) {
    return ops_where(stage, [](const GraphOp& op) { return op.kind == GraphOp::Kind::send; });
  };
  const StepGraph graph = build_step_graph(scenario, tiny_work(2));
  REQUIRE(graph_fault(graph).empty());
  REQUIRE(buffers(sends(graph.stages[0])) == std::vector<std::int64_t>{25, 25});
  const std::vector<GraphOp> gathers = collectives(graph.stages[1], op::tp_all_gather);
  REQUIRE(buffers(gathers) == std::vector<std::int64_t>{100, 100});
  const GraphOp& behind = graph.stages[1].ops[static_cast<std::size_t>(gathers[0].after.at(0))];
  REQUIRE(behind.kind == GraphOp::Kind::recv);

  scenario.parallel.sequence_parallel = true;
  const StepGraph sharded = build_step_graph(scenario, tiny_work(2));
  REQUIRE(buffers(sends(sharded.stages[0])) == std::vector<std::int64_t>{100, 100});
  REQUIRE(collectives(sharded.stages[1], op::tp_all_gather).empty());
}

TEST_CASE("zero-bubble sends the input gradient before the weight gradient runs", "[graph]") {
  Scenario scenario = tiny_scenario(2, 2, 2);
  scenario.parallel.schedule = ScheduleKind::zero_bubble;
  const StageGraph last = build_step_graph(scenario, tiny_work(2)).stages[1];
  const std::vector<GraphOp> sends =
      ops_where(last, [](const GraphOp& op) { return op.kind == GraphOp::Kind::send; });
  REQUIRE(sends.size() == 2);
  for (const GraphOp& send : sends)
    REQUIRE(last.ops[static_cast<std::size_t>(send.after[0])].name == phase::backward_data);
  // The weight pass holds both layers' weight products and nothing else.
  for (const WorkList& list : last.works)
    if (list.name == phase::backward_weight) REQUIRE(list.ops.size() == 2);
}
