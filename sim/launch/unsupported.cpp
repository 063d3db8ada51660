#include <fmt/format.h>

#include "sim/launch/plan.hpp"

namespace stepcast::launch {
namespace {
std::string name_of(Program program) {
  switch (program) {
    case Program::megatron:
      return "Megatron-LM";
    case Program::deepspeed:
      return "DeepSpeed";
    case Program::pytorch:
      return "PyTorch";
    case Program::horovod:
      return "Horovod";
    case Program::tensorflow:
      return "TensorFlow";
  }
  return "";
}

void check_sync(const SyncSpec& sync, Program program, Findings& f) {
  if (sync.is_lockstep()) return;
  const std::string mode(text_of(sync.mode));
  if (program == Program::tensorflow && sync.has_servers() &&
      (sync.mode == SyncMode::async || sync.mode == SyncMode::bsp)) {
    if (sync.server.placement == ServerPlacement::colocated)
      f.refuse("/sync/servers/placement", "a TFJob's parameter servers are pods of their own",
               "set it to dedicated");
    return;
  }
  // torch.distributed.algorithms.model_averaging: PeriodicModelAverager, HierarchicalModelAverager.
  if (program == Program::pytorch && !sync.has_servers() && sync.mode == SyncMode::local_sgd) {
    f.warn("/sync/mode", fmt::format("local SGD is the script's: PostLocalSGDOptimizer with "
                                     "PeriodicModelAverager(period={})",
                                     sync.period));
    return;
  }
  if (program == Program::pytorch && !sync.has_servers() && sync.mode == SyncMode::hierarchical) {
    f.warn("/sync/mode",
           fmt::format("averaging between nodes is the script's: HierarchicalModelAverager with a "
                       "period of {} over all ranks",
                       sync.period));
    return;
  }
  if (sync.has_servers())
    f.refuse("/sync/servers", name_of(program) + " has no parameter servers",
             "strategy tf-parameter-server on k8s, or sync.mode bsp without servers");
  else if (sync.backup_workers > 0)
    f.refuse("/sync/backup_workers", name_of(program) + " waits for every rank",
             "leave it out, or keep the scenario as a what-if");
  else
    f.refuse("/sync/mode", name_of(program) + " does not train in mode " + mode,
             "pytorch-ddp has local-sgd and hierarchical, every framework bsp");
}

void check_compression(const CompressionSpec& c, Program program, Findings& f) {
  using enum CompressionScheme;
  if (c.scheme == none) return;
  const std::string scheme(text_of(c.scheme));
  if (c.two_level)
    f.refuse("/compression/two_level", name_of(program) + " compresses the whole group or nothing",
             "leave it out");
  const bool is_cast = c.scheme == fp16 || c.scheme == bf16;
  // torch.distributed.algorithms.ddp_comm_hooks: fp16_compress_hook, bf16_compress_hook,
  // powerSGD_hook.
  if (program == Program::pytorch && (is_cast || c.scheme == powersgd)) {
    f.warn("/compression/scheme",
           is_cast ? fmt::format("the script registers {}_compress_hook on the model", scheme)
                   : fmt::format("the script registers powerSGD_hook with PowerSGDState("
                                 "matrix_approximation_rank={}, use_error_feedback={})",
                                 c.rank, c.error_feedback ? "True" : "False"));
    return;
  }
  if (program == Program::horovod && c.scheme == fp16) {
    f.warn("/compression/scheme", "the script passes compression=hvd.Compression.fp16");
    return;
  }
  if (program == Program::deepspeed && (is_cast || c.scheme == onebit)) return;  // in its JSON
  const char* has = program == Program::pytorch     ? "it has fp16, bf16 and powersgd hooks"
                    : program == Program::horovod   ? "it has fp16"
                    : program == Program::deepspeed ? "it has fp16, bf16 and onebit"
                    : program == Program::megatron
                        ? "training.gradient_precision bf16 halves what it sends"
                        : "it has none";
  f.refuse("/compression/scheme", name_of(program) + " has no " + scheme + " compression", has);
}
}  // namespace

void check_mechanisms(const Scenario& scenario, Program program, Findings& f) {
  check_sync(scenario.sync, program, f);
  check_compression(scenario.compression, program, f);
  if (!scenario.stragglers.empty())
    f.warn("/stragglers", "describe the machine; nothing is started for them");
  if (scenario.mitigation.load_aware_batches)
    f.warn("/mitigation/load_aware_batches", "is not launched: every rank gets the same batch");
  if (scenario.mitigation.evict.threshold > 0)
    f.warn("/mitigation/evict", "is not launched: the scheduler's health checks replace nodes");
  if (scenario.cluster.placement != PlacementKind::linear)
    f.warn("/cluster/placement", "is left to the scheduler");
  if (!scenario.cluster.link_events.empty())
    f.warn("/cluster/link_events", "describe the machine; nothing is started for them");
}
}  // namespace stepcast::launch
