#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
constexpr const char* kPlain =
    R"({"global_batch": 8, "micro_batch": 1, "sequence_length": 2048, "attention": "unfused"})";
}

TEST_CASE("a GPT block does 24 B T C^2 + 4 B T^2 C flops forward and twice that backward",
          "[transformer]") {
  // Narayanan 2021 section 5.1 with ffn = 4C; unfused attention computes the full square.
  const ModelWork work = model_work(preset("gpt3-175b"), training(kPlain), layout("{}"));
  const double t = 2048, c = 12288, forward = 24 * t * c * c + 4 * t * t * c;
  const LayerWork& block = kind(work, "block");
  REQUIRE(flops(block.forward) == Approx(forward).epsilon(1e-12));
  REQUIRE(flops(block.backward) == Approx(2 * forward).epsilon(1e-12));
}

TEST_CASE("model flops follow 72 B L s h^2 (1 + s/6h + V/12hL)", "[transformer]") {
  const ModelSpec model = preset("gpt3-175b");
  const double l = 96, s = 2048, h = 12288, v = 51200;
  const double expected = 72 * l * s * h * h * (1 + s / (6 * h) + v / (12 * h * l));
  REQUIRE(model_work(model, training(kPlain), layout("{}")).model_flops_per_sample.value ==
          Approx(expected).epsilon(1e-12));
}

TEST_CASE("tensor parallel ranks share a block's flops evenly", "[transformer]") {
  for (const char* name : {"gpt3-175b", "llama3-8b", "deepseek-v2-lite"}) {
    INFO(name);
    const ModelSpec model = preset(name);
    const TrainingSpec t = training(R"({"global_batch": 8, "sequence_length": 2048})");
    const LayerWork whole = kind(model_work(model, t, layout("{}")), "block");
    const LayerWork part =
        kind(model_work(model, t, layout(R"({"tp": 4, "sequence_parallel": true})")), "block");
    REQUIRE(4 * flops(part.forward) == Approx(flops(whole.forward)).epsilon(1e-12));
    REQUIRE(4 * flops(part.backward) == Approx(flops(whole.backward)).epsilon(1e-12));
  }
}

TEST_CASE("tensor parallel without sequence parallel makes two all-reduces of B T C each way",
          "[transformer]") {
  const LayerWork block =
      kind(model_work(preset("gpt3-175b"), training(kPlain), layout(R"({"tp": 8})")), "block");
  REQUIRE(collectives(block.forward, Collective::all_reduce) == 2);
  REQUIRE(collectives(block.backward, Collective::all_reduce) == 2);
  REQUIRE(collectives(block.forward, Collective::all_gather) +
              collectives(block.forward, Collective::reduce_scatter) ==
          0);
  for (const Op& op : block.forward)
    if (op.is_collective())
      REQUIRE(std::get<CollectiveShape>(op.shape).buffer.value == std::int64_t{2048} * 12288 * 2);
}

TEST_CASE(
    "sequence parallel gathers before and scatters after and gathers the input once more backward",
    "[transformer]") {
  const LayerWork block = kind(model_work(preset("gpt3-175b"), training(kPlain),
                                          layout(R"({"tp": 8, "sequence_parallel": true})")),
                               "block");
  REQUIRE(collectives(block.forward, Collective::all_gather) == 2);
  REQUIRE(collectives(block.forward, Collective::reduce_scatter) == 2);
  REQUIRE(collectives(block.backward, Collective::all_gather) == 4);
  REQUIRE(collectives(block.backward, Collective::reduce_scatter) == 2);
  REQUIRE(collectives(block.forward, Collective::all_reduce) +
              collectives(block.backward, Collective::all_reduce) ==
          0);
}

TEST_CASE("one rank alone communicates nothing", "[transformer]") {
  for (const char* name : {"llama3-8b", "mixtral-8x7b", "deepseek-v3"}) {
    const ModelWork work = model_work(
        preset(name), training(R"({"global_batch": 1, "sequence_length": 4096})"), layout("{}"));
    for (const LayerWork& layer : work.kinds)
      for (const auto* ops : {&layer.forward, &layer.recompute, &layer.backward})
        for (const Op& op : *ops) REQUIRE_FALSE(op.is_collective());
  }
}

TEST_CASE(
    "full recompute repeats the forward with its collectives and selective only the attention core",
    "[transformer]") {
  const ModelSpec model = preset("gpt3-175b");
  const ParallelLayout l = layout(R"({"tp": 8})");
  const LayerWork full = kind(
      model_work(
          model,
          training(
              R"({"global_batch": 8, "sequence_length": 2048, "attention": "unfused", "recompute": "full"})"),
          l),
      "block_recomputed");
  REQUIRE(flops(full.recompute) == flops(full.forward));
  REQUIRE(collectives(full.recompute, Collective::all_reduce) == 2);
  const LayerWork selective = kind(
      model_work(
          model,
          training(
              R"({"global_batch": 8, "sequence_length": 2048, "attention": "unfused", "recompute": "selective"})"),
          l),
      "block");
  // Scores and values over the 12 heads of this rank: 2 products of 2 T^2 d flops each.
  REQUIRE(flops(selective.recompute) == Approx(12 * 2 * 2.0 * 2048 * 2048 * 128).epsilon(1e-12));
  REQUIRE(collectives(selective.recompute, Collective::all_reduce) == 0);
}

TEST_CASE("selective recompute of PyTorch code keeps attention and every second product",
          "[transformer]") {
  const auto block = [](const char* text) {
    return kind(model_work(preset("llama3-8b"), training(text), layout("{}")), "block");
  };
  const LayerWork ops = block(
      R"({"global_batch": 1, "sequence_length": 1024, "fusion": "compiled", "recompute": "selective"})");
  // C = 4096, key and value 1024 wide, gate and up 14336. Products in order: query, key, value,
  // out, gate, up, down. Kept per token: the input, 1st, 3rd, 5th and 7th product, what attention
  // puts out, in 2 bytes each, and the log-sum-exp of 32 heads in 4.
  const std::int64_t kept = 2 * (4096 + 4096 + 1024 + 14336 + 4096 + 4096) + 4 * 32;
  REQUIRE(ops.activation.value == 1024 * kept);
  // Repeated: key, out and up.
  REQUIRE(flops(ops.recompute) == Approx(2.0 * 1024 * 4096 * (1024 + 4096 + 14336)).epsilon(1e-12));
  // Megatron's policy repeats the core of unfused attention, and flash attention has none.
  const LayerWork megatron =
      block(R"({"global_batch": 1, "sequence_length": 1024, "recompute": "selective"})");
  REQUIRE(megatron.recompute.empty());
  REQUIRE(megatron.activation.value > ops.activation.value);
}

TEST_CASE("recompute_layers recomputes the first blocks of every stage", "[transformer]") {
  const ModelWork work = model_work(
      preset("gpt3-175b"),
      training(
          R"({"global_batch": 8, "sequence_length": 2048, "recompute": "full", "recompute_layers": 5})"),
      layout(R"({"pp": 8})"));
  int again = 0;
  for (std::size_t block = 0; block < work.blocks.size(); ++block) {
    const bool recomputed =
        !work.kinds[static_cast<std::size_t>(work.blocks[block])].recompute.empty();
    REQUIRE(recomputed == (block % 12 < 5));  // 96 blocks over 8 stages: 12 each
    again += recomputed;
  }
  REQUIRE(again == 40);
}

TEST_CASE("recompute_interval recomputes every n-th block of the model", "[transformer]") {
  const ModelWork work = model_work(
      preset("gpt3-175b"),
      training(
          R"({"global_batch": 8, "sequence_length": 2048, "recompute": "full", "recompute_interval": 3})"),
      layout(R"({"pp": 8})"));
  for (std::size_t block = 0; block < work.blocks.size(); ++block)
    REQUIRE(!work.kinds[static_cast<std::size_t>(work.blocks[block])].recompute.empty() ==
            (block % 3 == 0));
}

namespace {
/// Bytes that ops of one name read and write.
std::int64_t streamed(const std::vector<Op>& ops, std::string_view name) {
  std::int64_t bytes = 0;
  for (const Op& op : ops)
    if (const auto* shape = std::get_if<StreamShape>(&op.shape);
        shape != nullptr && op.name == name)
      bytes += shape->read.value + shape->written.value;
  return bytes;
}
}  // namespace

TEST_CASE("unfused gradient accumulation passes over every weight once per micro-batch",
          "[transformer]") {
  const ModelSpec model = preset("gpt3-175b");
  const auto backward = [&](const char* fused) {
    const std::string text =
        std::string(
            R"({"global_batch": 8, "sequence_length": 2048, "gradient_precision": "fp32", "fused_gradient_accumulation": )") +
        fused + "}";
    return kind(model_work(model, training(text.c_str()), layout("{}")), "block").backward;
  };
  REQUIRE(streamed(backward("true"), "grad_accumulate") == 0);
  // 12 h^2 weights: 2 bytes of gradient and 4 of the sum are read, 4 written.
  REQUIRE(streamed(backward("false"), "grad_accumulate") == std::int64_t{12} * 12288 * 12288 * 10);
}

TEST_CASE("dynamic 8-bit scales cast weights too and pass over each tensor twice",
          "[transformer]") {
  const ModelSpec model = preset("gpt3-175b");
  const auto forward = [&](const char* scaling) {
    const std::string text =
        std::string(
            R"({"global_batch": 8, "sequence_length": 2048, "precision": "fp8", "narrow_scaling": ")") +
        scaling + "\"}";
    return kind(model_work(model, training(text.c_str()), layout("{}")), "block").forward;
  };
  // Inputs of the four products: h, h, h and 4h wide; weights 12 h^2. Maximum and cast read 2 bytes
  // each, one is written.
  const std::int64_t h = 12288, inputs = 7 * 2048 * h, weights = 12 * h * h;
  REQUIRE(streamed(forward("dynamic"), "cast") == 5 * (inputs + weights));
  // Delayed scales: inputs that no norm feeds (h and 4h) are read once and written in two layouts.
  REQUIRE(streamed(forward("delayed"), "cast") == 4 * 5 * 2048 * h);
}

TEST_CASE("activations of a block are those of Korthikanti 2022", "[memory]") {
  const ModelSpec model = preset("gpt3-175b");
  const double s = 2048, h = 12288, a = 96;
  const auto activation = [&](const char* t, const char* l) {
    return static_cast<double>(
        kind(model_work(model, training(t), layout(l)), "block").activation.value);
  };
  // Equation 1: s b h (34 + 5 a s / h)
  REQUIRE(activation(kPlain, "{}") == Approx(s * h * (34 + 5 * a * s / h)).epsilon(1e-9));
  // Equation 2, tensor parallel t = 8: s b h (10 + 24/t + 5 a s / (h t))
  REQUIRE(activation(kPlain, R"({"tp": 8})") ==
          Approx(s * h * (10 + 24.0 / 8 + 5 * a * s / (h * 8))).epsilon(1e-9));
  // Equation 4, with sequence parallel: s b h / t (34 + 5 a s / h)
  REQUIRE(activation(kPlain, R"({"tp": 8, "sequence_parallel": true})") ==
          Approx(s * h / 8 * (34 + 5 * a * s / h)).epsilon(1e-9));
  // Selective recompute (equation 6): 34 s b h / t; full: the input, 2 s b h.
  REQUIRE(
      activation(
          R"({"global_batch": 8, "sequence_length": 2048, "attention": "unfused", "recompute": "selective"})",
          R"({"tp": 8, "sequence_parallel": true})") == Approx(34 * s * h / 8).epsilon(1e-9));
  const ModelWork full = model_work(
      model, training(R"({"global_batch": 8, "sequence_length": 2048, "recompute": "full"})"),
      layout("{}"));
  REQUIRE(full.kinds[1].activation.value == static_cast<std::int64_t>(2 * s * h));
}

TEST_CASE("parallel blocks share one norm and one pair of collectives", "[transformer]") {
  const ParallelLayout l = layout(R"({"tp": 8, "sequence_parallel": true})");
  const ModelSpec parallel = preset("palm-62b"),
                  serial = preset("palm-62b", R"({"parallel_block": false})");
  const LayerWork one = kind(model_work(parallel, training(kPlain), l), "block"),
                  two = kind(model_work(serial, training(kPlain), l), "block");
  REQUIRE(collectives(one.forward, Collective::all_gather) == 1);
  REQUIRE(collectives(one.forward, Collective::reduce_scatter) == 1);
  REQUIRE(collectives(one.backward, Collective::all_gather) == 2);
  REQUIRE(collectives(one.backward, Collective::reduce_scatter) == 1);
  REQUIRE(flops(one.forward) == flops(two.forward));
  REQUIRE(flops(one.backward) == flops(two.backward));
}

TEST_CASE("BERT's head predicts the masked tokens only", "[transformer]") {
  // 4 sequences of 128 tokens, 20 masked in each: 80 rows through the transform (1024 x 1024) and
  // the vocabulary (30522, padded to 239 x 128 = 30592); the pooler takes one token of each
  // sequence.
  const ModelWork work = model_work(
      preset("bert-large"),
      training(R"({"global_batch": 4, "micro_batch": 4, "sequence_length": 128})"), layout("{}"));
  const double c = 1024, forward = 2 * 80 * c * c + 2 * 80 * c * 30592 + 2 * 4 * c * c;
  REQUIRE(flops(kind(work, "head").forward) == Approx(forward).epsilon(1e-12));
}
