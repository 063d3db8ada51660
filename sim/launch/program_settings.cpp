#include <fmt/format.h>

#include "sim/launch/plan.hpp"

namespace stepcast::launch {
namespace {
constexpr double kMiB = 1048576.0;
const char* python_bool(bool b) { return b ? "True" : "False"; }

/// torch.nn.parallel.DistributedDataParallel; torch.distributed.fsdp.fully_shard and
/// FullyShardedDataParallel; torch.distributed.optim.ZeroRedundancyOptimizer.
std::string data_parallel_wrapper(const Scenario& s) {
  const StrategySpec& strategy = s.strategy;
  const int stage = s.parallel.zero_stage;
  if (stage >= 2 && strategy.preset == "fsdp")
    return fmt::format(
        "FullyShardedDataParallel(model, sharding_strategy=ShardingStrategy.{}, "
        "forward_prefetch={})",
        stage == 2 || !strategy.reshard_after_forward ? "SHARD_GRAD_OP" : "FULL_SHARD",
        python_bool(strategy.prefetch > 1));
  if (stage >= 2)
    return fmt::format("fully_shard(block, reshard_after_forward={}) for every block",
                       python_bool(stage == 3 && strategy.reshard_after_forward));
  std::string text =
      fmt::format("DistributedDataParallel(model, bucket_cap_mb={:g}, find_unused_parameters={})",
                  static_cast<double>(strategy.bucket_bytes.value) / kMiB,
                  python_bool(strategy.find_unused_parameters));
  if (stage == 1) text += " with ZeroRedundancyOptimizer";
  return text;
}

void add_parallelism(const ParallelLayout& p, std::vector<std::string>& lines) {
  if (p.tp * p.pp * p.cp * p.ep > 1)
    lines.push_back(fmt::format("device mesh: dp {}, tp {}, pp {}, cp {}, ep {}{}", p.dp, p.tp,
                                p.pp, p.cp, p.ep,
                                p.sequence_parallel ? ", sequence parallel" : ""));
  if (p.pp > 1)
    lines.push_back(fmt::format("pipeline schedule: {} with {} stages per rank",
                                text_of(p.schedule), p.virtual_stages));
  if (p.shard_size > 0) lines.push_back(fmt::format("shards over {} ranks", p.shard_size));
}
}  // namespace

std::vector<std::string> program_settings(const Scenario& s, Program program) {
  std::vector<std::string> lines;
  lines.push_back("model: " + s.model.name);
  if (program == Program::pytorch) lines.push_back(data_parallel_wrapper(s));
  if (program == Program::horovod) lines.push_back("hvd.DistributedOptimizer(optimizer)");
  if (program == Program::tensorflow)
    lines.push_back(s.sync.has_servers()    ? "tf.distribute.ParameterServerStrategy"
                    : s.cluster.nodes() > 1 ? "tf.distribute.MultiWorkerMirroredStrategy"
                                            : "tf.distribute.MirroredStrategy");
  if (program != Program::deepspeed) {  // its JSON says these
    lines.push_back(fmt::format("batch: {} in all, {} per rank and micro-batch, {} micro-batches",
                                s.training.global_batch, s.training.micro_batch,
                                micro_batch_count(s.parallel, s.training)));
    lines.push_back(
        fmt::format("precision: {}, gradients {}, optimizer {}", text_of(s.training.precision),
                    text_of(s.training.gradient_precision), text_of(s.training.optimizer)));
    if (s.training.recompute != Recompute::none)
      lines.push_back(fmt::format("activation recomputation: {}", text_of(s.training.recompute)));
  }
  if (s.training.sequence_length > 1)
    lines.push_back(fmt::format("sequence length: {}", s.training.sequence_length));
  if (s.training.fusion == Fusion::compiled) lines.push_back("torch.compile on every block");
  add_parallelism(s.parallel, lines);
  return lines;
}
}  // namespace stepcast::launch
