#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("a recommender's tables are dealt out over all ranks", "[dlrm]") {
  const ModelSpec model = preset("dlrm-criteo");
  // 26 * 7853253 rows of 128, MLPs 13-512-256-128 and 479-1024-1024-512-256-1 (128 + 27*26/2 = 479
  // inputs).
  const std::int64_t tables = std::int64_t{26} * 7853253 * 128;
  const std::int64_t bottom = 512 * 14 + 256 * 513 + 128 * 257,
                     top = 1024 * 480 + 1024 * 1025 + 512 * 1025 + 256 * 513 + 257;
  REQUIRE(parameter_count(model) == tables + bottom + top);

  const ModelWork work = model_work(
      model, training(R"({"global_batch": 65536, "micro_batch": 8192})"), layout(R"({"dp": 8})"));
  const LayerWork& bags = kind(work, "embedding_bags");
  REQUIRE(bags.local_parameters ==
          (std::int64_t{26} * 7853253 + 7) / 8 * 129);  // one AdaGrad state per row
  REQUIRE(collectives(bags.forward, Collective::all_to_all) == 2);
  REQUIRE(collectives(bags.backward, Collective::all_to_all) == 1);
  const auto& pooled = std::get<CollectiveShape>(bags.forward.back().shape);
  REQUIRE(pooled.group == GroupKind::world);
  REQUIRE(pooled.buffer.value == std::int64_t{8192} * 26 * 128 * 2);
  REQUIRE(kind(work, "bottom_mlp").dense_parameters == bottom);
  REQUIRE(kind(work, "top_mlp").dense_parameters == top);
}

TEST_CASE("alone a recommender exchanges nothing", "[dlrm]") {
  const ModelWork work =
      model_work(preset("dlrm-dcnv2"), training(R"({"global_batch": 8192, "micro_batch": 8192})"),
                 layout("{}"));
  for (const LayerWork& layer : work.kinds)
    for (const auto* ops : {&layer.forward, &layer.backward})
      for (const Op& op : *ops) REQUIRE_FALSE(op.is_collective());
}

TEST_CASE("custom layers scale with the micro-batch and repeat", "[custom]") {
  const Json json = Json::parse(R"({"kind": "custom", "name": "two", "layers": [
      {"name": "a", "forward_flops_per_sample": 1e9, "bytes_per_sample": 3000, "activation_bytes_per_sample": 500, "parameters": 7, "repeat": 2}]})");
  Problems problems;
  const ModelSpec model = read_model(ObjectReader(json, "m.json", "/model", problems));
  REQUIRE(problems.empty());
  REQUIRE(parameter_count(model) == 14);
  const ModelWork work =
      model_work(model, training(R"({"global_batch": 8, "micro_batch": 4})"), layout("{}"));
  REQUIRE(work.blocks.size() == 2);
  REQUIRE(flops(work.kinds[0].forward) == Approx(4e9));
  REQUIRE(flops(work.kinds[0].backward) == Approx(8e9));
  REQUIRE(work.kinds[0].activation.value == 2000);
  REQUIRE(work.model_flops_per_sample.value == Approx(6e9));
}

TEST_CASE("the optimizer reads and writes what its update needs", "[optimizer]") {
  // Fused Adam over n elements with fp32 gradients: reads g, p, m, v and writes p, m, v: 28 bytes;
  // then the bf16 copy, 4 + 2.
  const std::int64_t n = 1000;
  const TrainingSpec t = training(R"({"global_batch": 1, "gradient_clip": false})");
  std::int64_t update = 0, cast = 0;
  for (const Op& op : optimizer_ops(n, n, t)) {
    const auto& s = std::get<StreamShape>(op.shape);
    if (op.name == "adam") update += s.read.value + s.written.value;
    if (op.name == "param_cast") cast += s.read.value + s.written.value;
    REQUIRE(op.name != "grad_norm");
    REQUIRE(op.pass == Pass::optimizer);
  }
  REQUIRE(update == 28 * n);
  REQUIRE(cast == 6 * n);
}

TEST_CASE("training problems are reported together", "[training]") {
  const Json json = Json::parse(
      R"({"micro_batch": 0, "precision": "fp32", "master_weights": true, "recompute_layers": 3, "gradient_precision": "fp8"})");
  Problems problems;
  read_training(ObjectReader(json, "t.json", "/training", problems));
  REQUIRE(problems.text() ==
          "t.json /training/global_batch: is missing; a whole number is expected\n"
          "t.json /training/micro_batch: 0 is outside 1 to 16777216\n"
          "t.json /training/master_weights: is true with precision fp32, whose parameters are "
          "already 32 bit; leave it out\n"
          "t.json /training/recompute_layers: has no effect with recompute \"none\"; set recompute "
          "to \"full\" or leave it out\n"
          "t.json /training/gradient_precision: is fp8, expected 16 or 32 bit; to send fewer bits "
          "see compression");
}
