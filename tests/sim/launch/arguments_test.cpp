#include <algorithm>

#include "sim/io/json.hpp"
#include "sim/launch/gpu_labels.hpp"
#include "sim/launch/launch_file.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using launch::Target;

namespace {
/// `changes` lies over a small scenario: 2 nodes of 8 H100, tp 2, pp 2, dp 4.
Scenario scenario_with(const std::string& changes) {
  Json document = Json::parse(R"({
    "model": { "preset": "gpt3-125m" },
    "training": { "global_batch": 32, "micro_batch": 2, "sequence_length": 1024 },
    "parallel": { "tp": 2, "pp": 2 },
    "cluster": { "preset": "dgx-h100-ib400", "nodes": 2 }
  })");
  merge_json(document, Json::parse(changes));
  return scenario_of(document, "test.json").value_or_throw();
}
std::string megatron(const std::string& changes) {
  return launch::launch_file(Target::megatron, scenario_with(changes), {}).text;
}
Json deepspeed(const std::string& changes) {
  return Json::parse(launch::launch_file(Target::deepspeed, scenario_with(changes), {}).text);
}
bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n  " + line + "\n") != std::string::npos;
}
void require_refused(Target target, const std::string& changes, const std::string& sentence) {
  try {
    launch::launch_file(target, scenario_with(changes), {});
    FAIL("was not refused: " << changes);
  } catch (const InputError& e) {
    INFO(e.what());
    REQUIRE(std::string(e.what()).find(sentence) != std::string::npos);
  }
}
bool warns(const launch::LaunchFile& file, const std::string& part) {
  return std::any_of(file.warnings.begin(), file.warnings.end(),
                     [&](const std::string& w) { return w.find(part) != std::string::npos; });
}
}  // namespace

TEST_CASE("Megatron arguments carry model and layout and batch", "[launch]") {
  const std::string text = megatron(R"({ "parallel": { "sequence_parallel": true } })");
  for (const char* line :
       {"--num-layers 12", "--hidden-size 768", "--num-attention-heads 12", "--vocab-size 51200",
        "--seq-length 1024", "--max-position-embeddings 2048", "--tensor-model-parallel-size 2",
        "--pipeline-model-parallel-size 2", "--sequence-parallel", "--micro-batch-size 2",
        "--global-batch-size 32", "--bf16", "--use-distributed-optimizer", "--overlap-grad-reduce",
        "--overlap-param-gather", "--accumulate-allreduce-grads-in-fp32"}) {
    INFO(line);
    CHECK(has_line(text, line));
  }
  // The bucket is Megatron's own, max(40 M, 1 M x dp = 4 M) elements: nothing to say.
  CHECK(text.find("--ddp-bucket-size") == std::string::npos);
  CHECK(text.find("--context-parallel-size") == std::string::npos);
}

TEST_CASE("stages of unlike length are spelled out for Megatron", "[launch]") {
  // 12 layers as 7 and 5.
  const std::string text = megatron(R"({ "parallel": { "layers_per_stage": [7, 5] } })");
  CHECK(has_line(text, "--pipeline-model-parallel-layout 'Et*7|t*5L'"));
  // 3 chunks on each of 2 ranks, 2 layers each: even.
  CHECK(has_line(megatron(R"({ "parallel": { "schedule": "interleaved", "virtual_stages": 3 },
                               "training": { "global_batch": 32 } })"),
                 "--num-virtual-stages-per-pipeline-rank 3"));
}

TEST_CASE("what Megatron-LM does not do is refused by name", "[launch]") {
  require_refused(Target::megatron, R"({ "parallel": { "schedule": "zero-bubble" } })",
                  "/parallel/schedule: Megatron-LM has no schedule zero-bubble");
  require_refused(Target::megatron, R"({ "training": { "optimizer": "lamb" } })",
                  "/training/optimizer");
  require_refused(Target::megatron,
                  R"({ "parallel": { "tp": 1, "pp": 1 }, "compression": { "scheme": "topk" } })",
                  "Megatron-LM has no topk compression");
  require_refused(Target::megatron, R"({ "parallel": { "rank_order": "pp-dp-cp-tp" } })",
                  "/parallel/rank_order");
  require_refused(Target::megatron, R"({ "model": { "preset": "resnet-50" },
      "training": { "sequence_length": 1 }, "parallel": { "tp": 1, "pp": 1 } })",
                  "trains transformers");
}

TEST_CASE("every problem of a target is listed at once", "[launch]") {
  try {
    launch::launch_file(
        Target::megatron,
        scenario_with(
            R"({ "parallel": { "schedule": "gpipe" }, "training": { "optimizer": "lamb" } })"),
        {});
    FAIL("was not refused");
  } catch (const InputError& e) {
    REQUIRE(e.problems.size() == 2);
  }
}

TEST_CASE("a bucket without an end becomes a block in DeepSpeed's configuration", "[launch]") {
  // torchtitan's bucket is 1 TiB, one reduce-scatter per block. gpt3-125m: 12 blocks.
  const Scenario s = scenario_with(
      R"({ "parallel": { "tp": 1, "pp": 1 }, "strategy": { "preset": "torchtitan" } })");
  const Json config = Json::parse(launch::launch_file(Target::deepspeed, s, {}).text);
  CHECK(config["zero_optimization"]["stage"] == 3);
  CHECK(config["zero_optimization"]["reduce_bucket_size"] == parameter_count(s.model) / 12);
}

TEST_CASE("DeepSpeed's configuration has batch and stage and buckets in elements", "[launch]") {
  const Json config = deepspeed(
      R"({ "parallel": { "tp": 1, "pp": 1 }, "strategy": { "preset": "deepspeed-zero3-offload" },
           "training": { "recompute": "full" } })");
  // 32 samples over 16 replicas of 2: one micro-batch.
  CHECK(config["train_batch_size"] == 32);
  CHECK(config["train_micro_batch_size_per_gpu"] == 2);
  CHECK(config["gradient_accumulation_steps"] == 1);
  CHECK(config["zero_optimization"]["stage"] == 3);
  CHECK(config["zero_optimization"]["reduce_bucket_size"] == 500000000);
  CHECK(config["zero_optimization"]["offload_optimizer"]["device"] == "cpu");
  CHECK(config["zero_optimization"]["offload_param"]["device"] == "cpu");
  CHECK(config["bf16"]["enabled"] == true);
  CHECK(config["gradient_clipping"] == 1.0);
  CHECK(config.contains("activation_checkpointing"));
  CHECK_FALSE(config.contains("communication_data_type"));  // gradients travel in bf16
}

TEST_CASE("one bit is DeepSpeed's optimizer and does not run under ZeRO", "[launch]") {
  const std::string plain =
      R"({ "parallel": { "tp": 1, "pp": 1, "zero_stage": 0 }, "compression": { "scheme": "onebit" },
           "strategy": { "preset": "deepspeed-zero1" } })";
  CHECK(deepspeed(plain)["optimizer"]["type"] == "OneBitAdam");
  require_refused(Target::deepspeed,
                  R"({ "parallel": { "tp": 1, "pp": 1, "zero_stage": 1 },
      "compression": { "scheme": "onebit" }, "strategy": { "preset": "deepspeed-zero1" } })",
                  "do not run under ZeRO");
  CHECK(deepspeed(R"({ "parallel": { "tp": 1, "pp": 1, "zero_stage": 1 },
      "training": { "gradient_precision": "fp32" }, "strategy": { "preset": "deepspeed-zero1" },
      "compression": { "scheme": "fp16" } })")["communication_data_type"] == "fp16");
}

TEST_CASE("gossip and servers are no mode of torchrun and stragglers are only a warning",
          "[launch]") {
  const std::string ddp =
      R"("parallel": { "tp": 1, "pp": 1 }, "strategy": { "preset": "pytorch-ddp" })";
  require_refused(Target::torchrun, "{" + ddp + R"(, "sync": { "mode": "gossip" } })",
                  "PyTorch does not train in mode gossip");
  require_refused(Target::torchrun,
                  "{" + ddp + R"(, "sync": { "mode": "async", "servers": { "count": 2 } } })",
                  "PyTorch has no parameter servers");
  require_refused(Target::torchrun, "{" + ddp + R"(, "compression": { "scheme": "topk" } })",
                  "PyTorch has no topk compression");
  const auto file = launch::launch_file(
      Target::torchrun,
      scenario_with("{" + ddp + R"(, "stragglers": [ { "ranks": "3", "compute_slowdown": 1.2 } ],
                                     "compression": { "scheme": "powersgd", "rank": 2 } })"),
      {});
  CHECK(warns(file, "/stragglers"));
  CHECK(warns(file, "matrix_approximation_rank=2"));
  CHECK(file.text.find("# WARNING /stragglers") != std::string::npos);
  CHECK(file.text.find("bucket_cap_mb=25") != std::string::npos);
}

TEST_CASE("product labels mean the catalogue's GPUs and back", "[launch]") {
  CHECK(launch::gpu_of_label("NVIDIA-H100-80GB-HBM3") == "h100-sxm5-80g");
  CHECK(launch::gpu_of_label("NVIDIA-A100-SXM4-40GB") == "a100-sxm4-40g");
  CHECK(launch::gpu_of_label("nvidia-a100-80gb") == "a100-sxm4-80g");  // GKE's name
  CHECK(launch::gpu_of_label("NVIDIA-A100-PCIE-40GB") == "a100-pcie-40g");
  CHECK(launch::gpu_of_label("GeForce-RTX-3090").empty());
  CHECK(launch::cluster_of_machine("p5.48xlarge") == "aws-p5");
  CHECK(launch::cluster_of_machine("Standard_ND96isr_H100_v5") == "azure-nd-h100-v5");
  for (const char* gpu : {"h100-sxm5-80g", "h200-sxm5-141g", "b200-sxm", "mi300x", "l40s"})
    CHECK(launch::gpu_of_label(launch::label_of_gpu(gpu)->value) == gpu);
}
