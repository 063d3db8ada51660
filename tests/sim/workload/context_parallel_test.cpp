#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
constexpr const char* kTraining = R"({"global_batch": 4, "sequence_length": 32768})";
}

TEST_CASE("context parallel ranks share a block's flops evenly in both kinds", "[context]") {
  const ModelSpec model = preset("llama3-8b");
  const double whole =
      flops(kind(model_work(model, training(kTraining), layout("{}")), "block").forward);
  for (const char* l : {R"({"cp": 4})", R"({"cp": 4, "context": "all-to-all"})"}) {
    INFO(l);
    REQUIRE(4 * flops(kind(model_work(model, training(kTraining), layout(l)), "block").forward) ==
            Approx(whole).epsilon(1e-12));
  }
}

TEST_CASE("the ring moves keys and values once forward and them and their gradients backward",
          "[context]") {
  const LayerWork block =
      kind(model_work(preset("llama3-8b"), training(kTraining), layout(R"({"cp": 4})")), "block");
  // 32768 tokens x 8 heads x 128 x 2 (K, V) x 2 B = 128 MiB gathered.
  for (const auto* ops : {&block.forward, &block.backward})
    for (const Op& op : *ops)
      if (op.is_collective()) {
        REQUIRE(std::get<CollectiveShape>(op.shape).buffer.value == std::int64_t{128} << 20);
        REQUIRE(std::get<CollectiveShape>(op.shape).group == GroupKind::cp);
        REQUIRE(op.overlappable);
      }
  REQUIRE(collectives(block.forward, Collective::all_gather) == 1);
  REQUIRE(collectives(block.backward, Collective::all_gather) == 1);
  REQUIRE(collectives(block.backward, Collective::reduce_scatter) == 1);
}
