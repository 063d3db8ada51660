#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/import/k8s/k8s.hpp"
#include "sim/io/json.hpp"
#include "sim/launch/launch_file.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// A scenario, its manifest, and the scenario read back from that.
std::pair<Scenario, Scenario> there_and_back(const std::string& json) {
  const Scenario before = scenario_of(Json::parse(json), "test.json").value_or_throw();
  const auto path = std::filesystem::temp_directory_path() /
                    ("stepcast_round_" + std::to_string(getpid()) + ".yaml");
  std::ofstream(path) << launch::launch_file(launch::Target::k8s, before, {}).text;
  const auto job = k8s::import_job(path.string(), {});
  std::filesystem::remove(path);
  return {before, scenario_of(job.scenario, "imported.json").value_or_throw()};
}

void require_same(const Scenario& a, const Scenario& b) {
  CHECK(a.cluster.name == b.cluster.name);
  CHECK(a.cluster.nodes() == b.cluster.nodes());
  CHECK(a.cluster.gpus() == b.cluster.gpus());
  CHECK(a.parallel.tp == b.parallel.tp);
  CHECK(a.parallel.pp == b.parallel.pp);
  CHECK(a.parallel.dp == b.parallel.dp);
  CHECK(a.parallel.cp == b.parallel.cp);
  CHECK(a.parallel.ep == b.parallel.ep);
  CHECK(a.parallel.expert_tp == b.parallel.expert_tp);
  CHECK(a.parallel.zero_stage == b.parallel.zero_stage);
  CHECK(a.parallel.sequence_parallel == b.parallel.sequence_parallel);
  CHECK(a.parallel.schedule == b.parallel.schedule);
  CHECK(a.parallel.virtual_stages == b.parallel.virtual_stages);
  CHECK(a.parallel.rank_order == b.parallel.rank_order);
  CHECK(a.training.global_batch == b.training.global_batch);
  CHECK(a.training.micro_batch == b.training.micro_batch);
  CHECK(a.training.sequence_length == b.training.sequence_length);
  CHECK(a.training.precision == b.training.precision);
  CHECK(a.training.gradient_precision == b.training.gradient_precision);
  CHECK(a.training.optimizer == b.training.optimizer);
  CHECK(a.training.recompute == b.training.recompute);
  CHECK(a.training.attention == b.training.attention);
  CHECK(a.training.fusion == b.training.fusion);
  CHECK(a.training.fused_loss == b.training.fused_loss);
  CHECK(a.training.gradient_clip == b.training.gradient_clip);
  CHECK(a.training.master_weights == b.training.master_weights);
  CHECK(a.strategy.preset == b.strategy.preset);
  CHECK(a.strategy.bucket_bytes == b.strategy.bucket_bytes);
  CHECK(a.strategy.overlap_grad_reduce == b.strategy.overlap_grad_reduce);
  CHECK(a.strategy.offload == b.strategy.offload);
  CHECK(parameter_count(a.model) == parameter_count(b.model));
}
}  // namespace

TEST_CASE("an exported Megatron job comes back with its layout", "[k8s]") {
  const auto [a, b] = there_and_back(R"({ "name": "it's: a \"job\" # 1",
    "model": { "preset": "gpt3-175b" },
    "training": { "global_batch": 1536, "micro_batch": 1, "sequence_length": 2048,
                  "recompute": "selective" },
    "parallel": { "tp": 8, "pp": 8, "sequence_parallel": true, "schedule": "interleaved",
                  "virtual_stages": 6 },
    "cluster": { "preset": "meta-24k-h100-roce", "nodes": 64 } })");
  require_same(a, b);
}

TEST_CASE("uneven stages and context parallelism and a rank order come back", "[k8s]") {
  const auto [a, b] = there_and_back(R"({
    "model": { "preset": "llama3-405b" },
    "training": { "global_batch": 64, "sequence_length": 8192, "recompute": "full" },
    "parallel": { "tp": 8, "pp": 4, "cp": 2, "sequence_parallel": true,
                  "rank_order": "tp-cp-ep-pp-dp", "layers_per_stage": [31, 32, 32, 31] },
    "cluster": { "preset": "dgx-h100-ib400", "nodes": 16 } })");
  require_same(a, b);
  CHECK(b.parallel.layers_per_stage == std::vector<int>{31, 32, 32, 31});
}

TEST_CASE("experts and latent attention come back", "[k8s]") {
  const auto [a, b] = there_and_back(R"({
    "model": { "preset": "deepseek-v2-lite" },
    "training": { "global_batch": 64, "sequence_length": 4096 },
    "parallel": { "ep": 8 },
    "cluster": { "preset": "dgx-h100-ib400", "nodes": 2 } })");
  require_same(a, b);
  CHECK(b.model.transformer.moe->first_dense_layers == 1);
  CHECK(b.model.transformer.mla->kv_lora_rank == 512);
}

TEST_CASE("a DeepSpeed job comes back through its ConfigMap", "[k8s]") {
  const auto [a, b] = there_and_back(R"({
    "model": { "preset": "llama2-13b" },
    "training": { "global_batch": 128, "micro_batch": 2, "sequence_length": 4096,
                  "recompute": "full" },
    "strategy": { "preset": "deepspeed-zero3-offload" },
    "cluster": { "preset": "dgx-a100-ib200", "nodes": 4 } })");
  require_same(a, b);
}

TEST_CASE("FSDP and DDP and Horovod and TensorFlow jobs come back", "[k8s]") {
  for (const char* strategy : {"fsdp2", "pytorch-ddp", "horovod", "tf-multiworker"}) {
    INFO(strategy);
    const auto [a, b] = there_and_back(R"({
      "model": { "preset": "bert-large" },
      "training": { "global_batch": 384, "micro_batch": 8, "sequence_length": 512 },
      "strategy": { "preset": ")" + std::string(strategy) +
                                       R"(" },
      "cluster": { "preset": "mi300x-8", "nodes": 3 } })");
    CHECK(a.cluster.gpus() == 24);
    require_same(a, b);
  }
}

TEST_CASE("what a scenario changes in the kernels of its training comes back", "[k8s]") {
  const auto [a, b] = there_and_back(R"({
    "model": { "preset": "llama3-8b" },
    "training": { "global_batch": 16, "sequence_length": 2048, "attention": "unfused",
                  "fusion": "eager", "fused_loss": true, "gradient_clip": false,
                  "gradient_precision": "bf16" },
    "strategy": { "preset": "torchtitan" },
    "cluster": { "preset": "dgx-h100-ib400", "nodes": 2 } })");
  require_same(a, b);
  CHECK(b.training.attention == AttentionKind::unfused);
  CHECK(b.training.fusion == Fusion::eager);
  CHECK(b.training.fused_loss);
  CHECK_FALSE(b.training.gradient_clip);
  CHECK(b.training.gradient_precision == Precision::bf16);
}
