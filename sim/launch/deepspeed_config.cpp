#include <fmt/format.h>

#include <algorithm>

#include "sim/launch/plan.hpp"

namespace stepcast::launch {
namespace {
/// The spelling of DeepSpeed's communication_data_type.
const char* communication_type(Precision precision) {
  return precision == Precision::bf16 ? "bfp16" : precision == Precision::fp16 ? "fp16" : "fp32";
}

void set_precision(const Scenario& s, Json& config, Findings& f) {
  const TrainingSpec& t = s.training;
  if (t.precision == Precision::bf16)
    config["bf16"] = {{"enabled", true}};
  else if (t.precision == Precision::fp16)
    config["fp16"] = {{"enabled", true}, {"loss_scale", 0}};  // 0: found while training
  else if (t.precision == Precision::tf32)
    f.warn("/training/precision",
           "tf32 is switched on in the program (torch.set_float32_matmul_precision(\"high\"))");
  else if (t.precision != Precision::fp32)
    f.refuse("/training/precision",
             "DeepSpeed's configuration has no " + std::string(text_of(t.precision)),
             "bf16, fp16 or fp32");
  Precision sent = t.gradient_precision;
  if (s.compression.scheme == CompressionScheme::fp16) sent = Precision::fp16;
  if (s.compression.scheme == CompressionScheme::bf16) sent = Precision::bf16;
  if (sent != t.precision && t.precision != Precision::tf32)
    config["communication_data_type"] = communication_type(sent);
}

/// Parameters of one block: what "prefetch" counts.
std::int64_t block_parameters(const Scenario& s) {
  const std::int64_t blocks = std::max<std::int64_t>(1, s.model.transformer.layers);
  return parameter_count(s.model) / blocks;
}

Json zero_section(const Scenario& s, Findings& f) {
  const ParallelLayout& p = s.parallel;
  const StrategySpec& strategy = s.strategy;
  Json zero{{"stage", p.zero_stage}};
  if (p.zero_stage == 0) return zero;
  const std::int64_t asked =
      strategy.bucket_bytes.value / bytes_per_element(s.training.gradient_precision);
  // DeepSpeed allocates a buffer of this size. A bucket beyond the model means "never cut within a
  // block" (fully_shard), which is a block at stage 3.
  const std::int64_t elements =
      asked <= parameter_count(s.model) || strategy.framework == "deepspeed" ? asked
      : p.zero_stage == 3                                                    ? block_parameters(s)
                          : parameter_count(s.model);
  zero["overlap_comm"] = strategy.overlap_grad_reduce;
  zero["reduce_scatter"] = true;
  zero["reduce_bucket_size"] = elements;
  zero["allgather_bucket_size"] = elements;
  zero["contiguous_gradients"] = true;
  if (p.zero_stage == 3) {
    zero["stage3_prefetch_bucket_size"] = strategy.prefetch * block_parameters(s);
    if (!strategy.reshard_after_forward) {
      // Gathered parameters stay until the backward is through with them.
      zero["stage3_max_live_parameters"] = parameter_count(s.model);
      zero["stage3_max_reuse_distance"] = parameter_count(s.model);
    }
  }
  if (p.shard_size > 0 && p.shard_size < p.dp * p.cp) {
    if (p.zero_stage == 3) {
      zero["mics_shard_size"] = p.shard_size;
      f.warn("/parallel/shard_size", "the program builds its model under deepspeed.zero.MiCS_Init");
    } else {
      f.refuse("/parallel/shard_size", "DeepSpeed shards within smaller groups at stage 3 only",
               "zero_stage 3 or shard_size 0");
    }
  }
  if (strategy.offload != Offload::none)
    zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  if (strategy.offload == Offload::parameters)
    zero["offload_param"] = {{"device", "cpu"}, {"pin_memory", true}};
  return zero;
}

void set_optimizer(const Scenario& s, Json& config, Findings& f) {
  const bool is_one_bit = s.compression.scheme == CompressionScheme::onebit;
  if (!is_one_bit) {
    config["optimizer"] = {{"type", s.training.optimizer == OptimizerKind::adam   ? "AdamW"
                                    : s.training.optimizer == OptimizerKind::lamb ? "Lamb"
                                                                                  : "SGD"},
                           {"params", Json::object()}};
  } else {
    // deepspeed/runtime/engine.py: "1bit-Adam is not compatible with ZeRO".
    if (s.parallel.zero_stage > 0)
      f.refuse("/parallel/zero_stage", "DeepSpeed's 1-bit optimizers do not run under ZeRO",
               "zero_stage 0");
    if (s.training.optimizer == OptimizerKind::sgd)
      f.refuse("/training/optimizer", "DeepSpeed has 1-bit Adam and 1-bit LAMB, no 1-bit SGD",
               "adam or lamb");
    config["optimizer"] = {
        {"type", s.training.optimizer == OptimizerKind::lamb ? "OneBitLamb" : "OneBitAdam"},
        {"params", {{"cuda_aware", false}, {"comm_backend_name", "nccl"}}}};
    f.warn("/compression/scheme",
           "optimizer.params.freeze_step, the steps before compression starts, is left to you");
  }
  f.warn("/training/optimizer", "optimizer.params.lr is left to you; no scenario has one");
}

/// Parallelism beside data parallelism is the program's: the configuration counts replicas only.
void check_model_parallelism(const Scenario& s, Findings& f) {
  const ParallelLayout& p = s.parallel;
  const bool is_megatron = s.strategy.framework.starts_with("megatron");
  if (p.pp > 1) {
    if (p.zero_stage >= 2)
      f.refuse("/parallel/zero_stage", "ZeRO 2 and 3 do not run with DeepSpeed's pipeline",
               "zero_stage 0 or 1");
    if (p.schedule != ScheduleKind::one_f_one_b)
      f.refuse("/parallel/schedule",
               "DeepSpeed's pipeline runs 1f1b, not " + std::string(text_of(p.schedule)), "1f1b");
    if (!is_megatron)
      f.warn("/parallel/pp",
             fmt::format("the program builds a PipelineModule of num_stages={}", p.pp));
  }
  if (is_megatron) return;
  if (p.tp > 1)
    f.warn("/parallel/tp",
           fmt::format("the program splits its layers {} ways (an mpu, or AutoTP)", p.tp));
  if (p.cp > 1) {
    if (p.context == ContextKind::ring)
      f.refuse("/parallel/context", "DeepSpeed-Ulysses exchanges heads; it has no ring",
               "set it to all-to-all");
    f.warn("/parallel/cp", fmt::format("the program runs Ulysses attention over {} ranks", p.cp));
  }
  if (p.ep > 1)
    f.warn("/parallel/ep", fmt::format("the program builds its MoE layers with ep_size={}", p.ep));
}
}  // namespace

Json deepspeed_config(const Scenario& s, Findings& f) {
  check_model_parallelism(s, f);
  Json config{{"train_batch_size", s.training.global_batch},
              {"train_micro_batch_size_per_gpu", s.training.micro_batch},
              {"gradient_accumulation_steps", micro_batch_count(s.parallel, s.training)}};
  if (s.training.gradient_clip) config["gradient_clipping"] = 1.0;
  set_precision(s, config, f);
  set_optimizer(s, config, f);
  config["zero_optimization"] = zero_section(s, f);
  if (s.training.recompute == Recompute::full) {
    config["activation_checkpointing"] = {{"partition_activations", false},
                                          {"contiguous_memory_optimization", false},
                                          {"cpu_checkpointing", false}};
    f.warn("/training/recompute",
           "the model calls deepspeed.checkpointing.checkpoint around each block");
  } else if (s.training.recompute == Recompute::selective) {
    f.warn("/training/recompute",
           "the configuration has no selective recomputation; the model checkpoints its attention");
  }
  return config;
}
}  // namespace stepcast::launch
