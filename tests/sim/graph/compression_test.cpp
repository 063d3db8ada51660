#include <algorithm>

#include "runtime/compress/block_codec.hpp"
#include "sim/graph/gradient_reduce.hpp"
#include "tests/support/test.hpp"
#include "tests/support/tiny_step.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
std::vector<GraphOp> gradient_lane(CompressionSpec compression, int zero_stage = 0) {
  Scenario scenario = tiny_scenario(1, 4, 1);
  scenario.compression = compression;
  scenario.parallel.zero_stage = zero_stage;
  scenario.training.gradient_clip = false;
  const StepGraph graph = build_step_graph(scenario, tiny_work(4));  // 120 parameters, 4 ranks
  REQUIRE(graph_fault(graph) == "");
  std::vector<GraphOp> lane;
  for (const GraphOp& op : graph.stages[0].ops)
    if (op.lane == Lane::gradient || op.category == Category::compression) lane.push_back(op);
  return lane;
}
}  // namespace

TEST_CASE("a cast reduces half the bytes between encode and decode", "[graph]") {
  const std::vector<GraphOp> lane = gradient_lane({CompressionScheme::fp16, 0, 0});
  REQUIRE(lane.size() == 3);
  REQUIRE(lane[0].name == op::encode);
  REQUIRE(lane[0].category == Category::compression);
  REQUIRE(lane[0].lane == Lane::compute);  // on the stream that made the gradient
  REQUIRE(lane[2].lane == Lane::gradient);
  REQUIRE(lane[1].collective == Collective::all_reduce);
  REQUIRE(lane[1].buffer == Bytes(240));
  REQUIRE(lane[2].name == op::decode);
}

TEST_CASE("payloads that do not add up are gathered from every rank", "[graph]") {
  // top 10 % of 120: 12 values of 4 bytes and 12 indices of 4 bytes = 96 bytes from each of 4
  // ranks.
  const std::vector<GraphOp> topk = gradient_lane({CompressionScheme::topk, 0.1, 0});
  REQUIRE(topk[1].collective == Collective::all_gather);
  REQUIRE(topk[1].buffer == Bytes(4 * 96));
  // one bit each (15 bytes) and a 4-byte scale.
  REQUIRE(gradient_lane({CompressionScheme::onebit, 0, 0})[1].buffer == Bytes(4 * 19));
  // one byte each and a 4-byte scale.
  REQUIRE(gradient_lane({CompressionScheme::int8, 0, 0})[1].buffer == Bytes(4 * 124));
  // random-k with a shared seed adds up: 12 values.
  const std::vector<GraphOp> randomk = gradient_lane({CompressionScheme::randomk, 0.1, 0});
  REQUIRE(randomk[1].collective == Collective::all_reduce);
  REQUIRE(randomk[1].buffer == Bytes(48));
}

TEST_CASE("payloads with a scale per block are those that the runtime sends", "[graph]") {
  const std::int64_t elements = 10 * runtime::kBlock;
  for (const auto& [scheme, format] :
       {std::pair(CompressionScheme::onebit, runtime::BlockFormat::sign),
        std::pair(CompressionScheme::int8, runtime::BlockFormat::int8),
        std::pair(CompressionScheme::fp8, runtime::BlockFormat::fp8)}) {
    INFO(text_of(scheme));
    const CompressedBucket code = compressed({.scheme = scheme}, {.elements = elements}, 4, 4);
    REQUIRE_FALSE(code.is_summable);
    REQUIRE(code.payload.value ==
            runtime::blocks_of(elements) * runtime::words_per_block(format) * 4);
  }
}

TEST_CASE("a server's answer is one payload to decode", "[graph]") {
  const auto decoded_bytes = [](int servers) {
    Scenario scenario = tiny_scenario(1, 4, 1);
    scenario.compression.scheme = CompressionScheme::onebit;
    scenario.sync.server.count = servers;
    const StepGraph graph = build_step_graph(scenario, tiny_work(4));
    for (const GraphOp& op : graph.stages[0].ops)
      if (op.name == op::decode)
        return std::get<StreamShape>(
                   graph.stages[0].works[static_cast<std::size_t>(op.work)].ops.front().shape)
            .read.value;
    return std::int64_t{0};
  };
  REQUIRE(decoded_bytes(0) == 4 * 19);  // 120 bits and a scale from each of 4 ranks
  REQUIRE(decoded_bytes(1) == 19);
}

TEST_CASE("PowerSGD reduces both factors and what has none", "[graph]") {
  // Rank 1. Blocks: 4 x 6 -> p 4, q 6 of 24 elements; head 5 x 2 -> 5 + 2 of 10; embedding without
  // a matrix product counts as 3 x 3 (sqrt 10): 3 + 3 of 9. p = 4*4 + 5 + 3 = 24, q = 4*6 + 2 + 3 =
  // 29; plain = 120 - (96 + 10 + 9) = 5.
  const std::vector<GraphOp> lane = gradient_lane({CompressionScheme::powersgd, 0, 1});
  std::vector<std::int64_t> reduced;
  for (const GraphOp& op : lane)
    if (op.kind == GraphOp::Kind::collective) reduced.push_back(op.buffer.value);
  REQUIRE(reduced == std::vector<std::int64_t>{4 * 24 + 4 * 5, 4 * 29});
}

TEST_CASE("compression under ZeRO scatters the smaller buffer", "[graph]") {
  const std::vector<GraphOp> lane = gradient_lane({CompressionScheme::fp16, 0, 0}, 1);
  const auto reduce = std::find_if(lane.begin(), lane.end(),
                                   [](const GraphOp& op) { return op.name == op::grad_reduce; });
  REQUIRE(reduce->collective == Collective::reduce_scatter);
  REQUIRE(reduce->buffer == Bytes(240));
}
