#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
constexpr const char* kTraining = R"({"global_batch": 8, "sequence_length": 4096})";
const Op& named(const std::vector<Op>& ops, const std::string& name) {
  for (const Op& op : ops)
    if (op.name == name) return op;
  FAIL("no op " << name);
  return ops.front();
}
}  // namespace

TEST_CASE("expert parallelism sends top_k copies of every token and computes as many rows",
          "[moe]") {
  // Mixtral: 4096 tokens, top 2, C = 4096, bf16: 64 MiB; 8 experts over ep 4: 2 local ones, 4096 *
  // 2 * 4 / 8 = 4096 rows each.
  const LayerWork block =
      kind(model_work(preset("mixtral-8x7b"), training(kTraining), layout(R"({"dp": 8, "ep": 4})")),
           "moe_block");
  const auto& dispatch = std::get<CollectiveShape>(named(block.forward, "dispatch").shape);
  REQUIRE(dispatch.group == GroupKind::ep);
  REQUIRE(dispatch.buffer.value == std::int64_t{4096} * 2 * 4096 * 2);
  const auto& up = std::get<GemmShape>(named(block.forward, "expert_up").shape);
  REQUIRE(up.m == 4096);
  REQUIRE(up.n == 2 * 14336);
  REQUIRE(up.k == 4096);
  REQUIRE(up.batch == 2);
  REQUIRE(up.grouped);
  REQUIRE(block.expert_parameters == std::int64_t{2} * 3 * 4096 * 14336);
  REQUIRE(collectives(block.forward, Collective::all_to_all) == 2);
  REQUIRE(collectives(block.backward, Collective::all_to_all) == 2);
}

TEST_CASE("the busiest rank's imbalance lengthens its products and not its messages", "[moe]") {
  const ParallelLayout l = layout(R"({"dp": 8, "ep": 4})");
  const LayerWork even =
      kind(model_work(preset("mixtral-8x7b"), training(kTraining), l), "moe_block");
  const LayerWork skewed = kind(
      model_work(preset("mixtral-8x7b", R"({"moe": {"imbalance": 1.5}})"), training(kTraining), l),
      "moe_block");
  REQUIRE(named(skewed.forward, "expert_up").flops.value ==
          Approx(1.5 * named(even.forward, "expert_up").flops.value));
  REQUIRE(std::get<CollectiveShape>(named(skewed.forward, "dispatch").shape).buffer ==
          std::get<CollectiveShape>(named(even.forward, "dispatch").shape).buffer);
}

TEST_CASE("a capacity factor pads both products and messages", "[moe]") {
  const ParallelLayout l = layout(R"({"dp": 8, "ep": 4})");
  const LayerWork padded =
      kind(model_work(preset("mixtral-8x7b", R"({"moe": {"capacity_factor": 1.25}})"),
                      training(kTraining), l),
           "moe_block");
  REQUIRE(std::get<GemmShape>(named(padded.forward, "expert_up").shape).m == 5120);
  REQUIRE(std::get<CollectiveShape>(named(padded.forward, "dispatch").shape).buffer.value ==
          std::int64_t{5120} * 2 * 4096 * 2);
}

TEST_CASE("experts split over tp keep the flops of a rank", "[moe]") {
  const ModelSpec model = preset("mixtral-8x7b");
  const auto expert_flops = [&](const char* l) {
    return named(kind(model_work(model, training(kTraining), layout(l)), "moe_block").forward,
                 "expert_up")
        .flops.value;
  };
  // Whole experts on 1/tp of the tokens, or 1/tp of each expert on all of them.
  REQUIRE(expert_flops(R"({"tp": 2, "dp": 4, "ep": 4, "sequence_parallel": true})") ==
          Approx(expert_flops(
              R"({"tp": 2, "dp": 4, "ep": 4, "expert_tp": 2, "sequence_parallel": true})")));
}

TEST_CASE("the parameters of all ranks together are the model's", "[moe]") {
  for (const char* name : {"mixtral-8x7b", "deepseek-v2", "deepseek-v3"}) {
    INFO(name);
    const ModelSpec model = preset(name);
    const ModelWork work = model_work(model, training(kTraining), layout(R"({"dp": 8, "ep": 8})"));
    std::int64_t total = 0;
    const auto add = [&](int index) {
      const LayerWork& layer = work.kinds[static_cast<std::size_t>(index)];
      total += layer.dense_parameters + 8 * layer.expert_parameters;
    };
    for (const auto* list : {&work.before, &work.blocks, &work.after})
      for (const int index : *list) add(index);
    REQUIRE(total == parameter_count(model));
  }
}

TEST_CASE("DeepSeek-V3 activates 37 billion parameters per token", "[moe]") {
  // Technical report section 1. Per token, 6 flops per activated weight; attention's quadratic part
  // is small at T = 128: 3 * 4 T H (192 + 128) / 2 * 61 layers. The embedding's 0.93 B weights are
  // activated and do no product.
  const double t = 128, attention = 3 * 2 * t * t * 128 * 320 * 61;
  const double flops =
      model_work(preset("deepseek-v3"), training(R"({"global_batch": 1, "sequence_length": 128})"),
                 layout("{}"))
          .model_flops_per_sample.value;
  REQUIRE((flops - attention) / (6 * t) + 129280.0 * 7168 == Approx(37.5e9).epsilon(0.015));
}
