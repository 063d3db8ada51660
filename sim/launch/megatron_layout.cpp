#include <fmt/format.h>

#include <algorithm>

#include "sim/launch/plan.hpp"

namespace stepcast::launch {
namespace {
using Flags = std::vector<std::vector<std::string>>;

std::string repeated_layers(int count) {
  return count == 0 ? "" : count == 1 ? "t" : fmt::format("t*{}", count);
}

/// Chunks of unlike length are spelled out: E embedding, t a layer, L loss, '|' between chunks in
/// pipeline order ("Et*3|t*4|t*4|t*3L", --pipeline-model-parallel-layout).
void add_stages(const Scenario& s, Flags& flags) {
  const ParallelLayout& p = s.parallel;
  const int blocks = static_cast<int>(s.model.transformer.layers);
  std::vector<int> counts;
  for (int chunk = 0; chunk < p.virtual_stages; ++chunk)
    for (int stage = 0; stage < p.pp; ++stage) {
      const LayerRange range = blocks_of(stage, chunk, blocks, p);
      counts.push_back(range.last - range.first);
    }
  const bool is_even =
      std::all_of(counts.begin(), counts.end(), [&](int n) { return n == counts.front(); });
  if (is_even) {
    if (p.virtual_stages > 1)
      flags.push_back({"--num-virtual-stages-per-pipeline-rank", std::to_string(p.virtual_stages)});
    return;
  }
  std::string layout = "E";
  for (std::size_t i = 0; i < counts.size(); ++i)
    layout += (i > 0 ? "|" : "") + repeated_layers(counts[i]);
  flags.push_back({"--pipeline-model-parallel-layout", layout + "L"});
}

void add_pipeline(const Scenario& s, Flags& flags, Findings& f) {
  const ParallelLayout& p = s.parallel;
  flags.push_back({"--pipeline-model-parallel-size", std::to_string(p.pp)});
  if (p.pp == 1) return;
  if (p.schedule == ScheduleKind::gpipe || p.schedule == ScheduleKind::zero_bubble)
    f.refuse("/parallel/schedule",
             "Megatron-LM has no schedule " + std::string(text_of(p.schedule)),
             "1f1b or interleaved");
  add_stages(s, flags);
  if (p.virtual_stages > 1 && !s.strategy.overlap_p2p)
    flags.push_back({"--no-overlap-p2p-communication"});
}

void add_sharding(const Scenario& s, Flags& flags, Findings& f) {
  const ParallelLayout& p = s.parallel;
  if (p.zero_stage >= 1) flags.push_back({"--use-distributed-optimizer"});
  if (p.zero_stage >= 2) {
    flags.push_back({"--use-megatron-fsdp"});
    flags.push_back({"--data-parallel-sharding-strategy",
                     p.zero_stage == 2 ? "optim_grads" : "optim_grads_params"});
  }
  if (p.shard_size > 0 && p.shard_size < p.dp * p.cp && p.zero_stage > 0)
    flags.push_back(
        {"--num-distributed-optimizer-instances", std::to_string(p.dp * p.cp / p.shard_size)});
  if (s.strategy.offload == Offload::optimizer) flags.push_back({"--optimizer-cpu-offload"});
  if (s.strategy.offload == Offload::parameters)
    f.refuse("/strategy/offload", "Megatron-LM keeps parameters in GPU memory",
             "optimizer, or a DeepSpeed strategy");
}

void add_reduction(const Scenario& s, Flags& flags, Findings& f) {
  const StrategySpec& strategy = s.strategy;
  if (strategy.overlap_grad_reduce) flags.push_back({"--overlap-grad-reduce"});
  if (strategy.overlap_param_gather && s.parallel.zero_stage >= 1)
    flags.push_back({"--overlap-param-gather"});
  const int width = bytes_per_element(s.training.gradient_precision);
  const std::int64_t elements = strategy.bucket_bytes.value / width;
  // core/distributed/distributed_data_parallel.py: max(40000000, 1000000 * data parallel size).
  const std::int64_t usual =
      std::max<std::int64_t>(40'000'000, 1'000'000LL * s.parallel.dp * s.parallel.cp);
  if (elements != usual) flags.push_back({"--ddp-bucket-size", std::to_string(elements)});
  const bool is_narrow = bytes_per_element(s.training.precision) < 4;
  if (s.training.gradient_precision == Precision::fp32) {
    if (is_narrow) flags.push_back({"--accumulate-allreduce-grads-in-fp32"});
  } else if (s.training.gradient_precision == Precision::bf16 && is_narrow) {
    flags.push_back({"--grad-reduce-in-bf16"});
  } else if (s.training.gradient_precision != s.training.precision) {
    f.refuse("/training/gradient_precision",
             "Megatron-LM reduces gradients in fp32 or bf16, not in " +
                 std::string(text_of(s.training.gradient_precision)),
             "fp32 or bf16");
  }
  if (strategy.tp_overlap > 0) {
    if (s.parallel.sequence_parallel)
      flags.push_back({"--tp-comm-overlap"});
    else
      f.refuse("/strategy/tp_overlap", "--tp-comm-overlap needs sequence parallelism",
               "set parallel.sequence_parallel");
  }
}

void add_rank_order(const ParallelLayout& p, Flags& flags, Findings& f) {
  using enum Axis;
  if (p.rank_order == std::vector<Axis>{tp, cp, dp, pp}) return;
  if (p.rank_order == std::vector<Axis>{tp, cp, pp, dp})
    flags.push_back({"--use-tp-pp-dp-mapping"});
  else
    f.refuse("/parallel/rank_order", "Megatron-LM knows tp-cp-ep-dp-pp and tp-cp-ep-pp-dp",
             "one of these");
}
}  // namespace

ArgumentGroup megatron_layout(const Scenario& s, Findings& f) {
  const ParallelLayout& p = s.parallel;
  ArgumentGroup group{"PARALLEL_ARGS", {}};
  Flags& flags = group.flags;
  flags.push_back({"--tensor-model-parallel-size", std::to_string(p.tp)});
  if (p.sequence_parallel && p.tp > 1) flags.push_back({"--sequence-parallel"});
  add_pipeline(s, flags, f);
  if (p.cp > 1) {
    flags.push_back({"--context-parallel-size", std::to_string(p.cp)});
    flags.push_back({"--cp-comm-type", p.context == ContextKind::ring ? "p2p" : "a2a"});
  }
  if (s.model.transformer.moe) {
    flags.push_back({"--expert-model-parallel-size", std::to_string(p.ep)});
    flags.push_back({"--expert-tensor-parallel-size", std::to_string(p.expert_tp)});
  }
  add_sharding(s, flags, f);
  add_reduction(s, flags, f);
  add_rank_order(p, flags, f);
  return group;
}
}  // namespace stepcast::launch
