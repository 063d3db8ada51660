#include "sim/core/random.hpp"
#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
/// Small numbers with the occasional odd one, from a stateless hash: the same layouts in every run.
struct Dice {
  std::uint64_t key;
  int of(std::initializer_list<int> choices) {
    key = mixed_bits(key);
    return *(choices.begin() + static_cast<std::ptrdiff_t>(key % choices.size()));
  }
  bool coin() { return of({0, 1}) == 1; }
};
}  // namespace

TEST_CASE("every layout is refused with a reason or gives sound work and memory", "[layout]") {
  const std::vector<ModelSpec> models{
      preset("llama3-8b"), preset("gpt3-1.3b"), preset("mixtral-8x7b"), preset("deepseek-v2-lite"),
      preset("bert-base"), preset("resnet-18"), preset("dlrm-dcnv2")};
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Dice dice{seed};
    ParallelLayout l;
    l.tp = dice.of({1, 1, 2, 2, 4, 4, 3, 64}), l.pp = dice.of({1, 1, 1, 2, 2, 4, 5, 100}),
    l.dp = dice.of({1, 2, 4, 6}), l.cp = dice.of({1, 1, 2, 3});
    l.ep = dice.of({1, 1, 1, 2, 8, 3}), l.expert_tp = dice.of({1, 1, 1, 1, 2}),
    l.zero_stage = dice.of({0, 1, 2, 3}), l.shard_size = dice.of({0, 0, 0, 0, 2});
    l.sequence_parallel = dice.coin();
    l.virtual_stages = dice.of({1, 1, 1, 2});
    l.schedule =
        EnumText<ScheduleKind>::table[static_cast<std::size_t>(
                                          l.virtual_stages > 1 ? 2 : dice.of({0, 1, 3, 1, 2}))]
            .first;
    l.context = dice.coin() ? ContextKind::ring : ContextKind::all_to_all;
    TrainingSpec t;
    t.global_batch = dice.of({24, 48, 96, 96, 7}), t.micro_batch = dice.of({1, 1, 2, 3});
    t.sequence_length = dice.of({512, 384, 384, 1000}),
    t.recompute = EnumText<Recompute>::table[static_cast<std::size_t>(dice.of({0, 1, 2}))].first;
    t.recompute_layers = t.recompute == Recompute::full ? dice.of({0, 1, 50}) : 0;
    t.attention = dice.coin() ? AttentionKind::flash : AttentionKind::unfused;
    t.fusion = EnumText<Fusion>::table[static_cast<std::size_t>(dice.of({0, 1, 2}))].first;
    t.precision = dice.coin() ? Precision::bf16 : Precision::fp8;
    const ModelSpec& model = models[static_cast<std::size_t>(dice.of({0, 1, 2, 3, 4, 5, 6}))];

    const std::string reasons = faults(model, t, l);
    if (!reasons.empty()) {
      ++refused;
      continue;
    }
    ++accepted;
    const ModelWork work = model_work(model, t, l);
    for (const LayerWork& layer : work.kinds) {
      if (layer.forward.empty() || layer.backward.empty() || layer.activation.value < 0 ||
          layer.working.value < 0 || layer.dense_parameters < 0)
        FAIL(model.name << " seed " << seed << " layer " << layer.name);
      for (const auto* ops : {&layer.forward, &layer.recompute, &layer.backward})
        for (const Op& op : *ops) {
          const auto* gemm = std::get_if<GemmShape>(&op.shape);
          if (gemm != nullptr && (gemm->m < 1 || gemm->n < 1 || gemm->k < 1 || gemm->batch < 1))
            FAIL(model.name << " seed " << seed << " " << op.name);
          const auto* message = std::get_if<CollectiveShape>(&op.shape);
          if (message != nullptr &&
              (message->buffer.value < 1 || group_size(message->group, l) < 2))
            FAIL(model.name << " seed " << seed << " " << op.name);
        }
    }
    for (const StageMemory& stage : memory_of(model, work, t, l, {}))
      if (!(stage.total > 0) || stage.parameters < 0 || stage.activations < 0 || stage.buffers < 0)
        FAIL(model.name << " seed " << seed);
  }
  INFO(accepted << " accepted, " << refused << " refused");
  REQUIRE(accepted > 250);
  REQUIRE(refused > 1000);
}

TEST_CASE("absurd sizes are refused and not computed with", "[layout]") {
  ParallelLayout l;
  l.tp = l.pp = l.dp = l.cp = 1 << 20;
  l.virtual_stages = 1 << 20;
  REQUIRE(
      faults(preset("llama3-8b"), training(R"({"global_batch": 8, "sequence_length": 2048})"), l) ==
      "s.json /parallel: tp 1048576 x pp 1048576 x cp 1048576 x dp 1048576 is more than 16777216 "
      "ranks");
}
