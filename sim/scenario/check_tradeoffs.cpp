#include "sim/scenario/check_tradeoffs.hpp"

#include <fmt/format.h>

namespace stepcast {
namespace {

void check_two_level(Scenario& s, const std::string& file, Problems& problems) {
  if (!s.compression.two_level) return;
  const std::string place = "/compression/two_level";
  if (s.parallel.zero_stage > 0) {
    problems.add(
        {file, place,
         fmt::format("needs replicated gradients; zero_stage is {}", s.parallel.zero_stage),
         "set zero_stage 0"});
    return;
  }
  const int replicas = s.parallel.dp * s.parallel.cp,
            per_node = s.cluster.groups.front().spec.gpus / (s.parallel.tp);
  if (!s.cluster.is_uniform() || per_node < 2 || replicas % per_node != 0 ||
      replicas / per_node < 2 || s.parallel.shard_size > 0) {
    problems.add({file, place, "needs several replicas on each of several equal nodes",
                  fmt::format("here {} replicas, {} a node{}", replicas, per_node,
                              s.parallel.shard_size > 0 ? ", and shard_size is taken" : "")});
    return;
  }
  s.parallel.shard_size =
      per_node;  // dp_shard: the replicas of a node; dp_replicate: one of each node
}

void check_sync(const Scenario& s, const std::string& file, Problems& problems) {
  if (s.sync.is_lockstep()) return;
  const std::string mode = s.sync.mode == SyncMode::bsp
                               ? (s.sync.has_servers() ? "parameter servers" : "backup workers")
                               : std::string(text_of(s.sync.mode));
  const auto refuse = [&](const char* place, std::string what, const char* hint) {
    problems.add({file, place, std::move(what), hint});
  };
  const ParallelLayout& p = s.parallel;
  if (p.pp > 1)
    refuse("/parallel/pp",
           fmt::format("{} with pipeline stages is not supported ({} stages)", mode, p.pp),
           "set pp 1");
  if (p.zero_stage > 0)
    refuse("/parallel/zero_stage",
           fmt::format("{} keeps whole parameters on every replica; zero_stage is {}", mode,
                       p.zero_stage),
           "set zero_stage 0");
  if (p.ep > 1 || p.cp > 1)
    refuse("/parallel", fmt::format("{} with expert or context parallelism is not supported", mode),
           "set ep and cp 1");
  if (s.model.kind == ModelKind::dlrm)
    refuse("/model/kind",
           fmt::format("{} with embedding tables dealt over all ranks is not supported", mode),
           "use sync bsp");
  for (const NodeGroup& group : s.cluster.groups)
    if (group.spec.gpus % p.tp != 0)
      refuse("/parallel/tp",
             fmt::format("{} needs replicas that do not cross nodes: tp {} does not divide {} GPUs",
                         mode, p.tp, group.spec.gpus),
             "");
  if (p.dp < 2)
    refuse("/sync", fmt::format("{} needs replicas; dp is 1", mode), "use more GPUs or smaller tp");
  if (s.sync.backup_workers >= p.dp)
    refuse("/sync/backup_workers",
           fmt::format("{} of {} replicas leave none", s.sync.backup_workers, p.dp), "");
  if (s.sync.mode == SyncMode::hierarchical && s.cluster.groups.front().spec.gpus / p.tp < 2)
    refuse("/sync/mode", "hierarchical needs several replicas on a node", "use local-sgd");
  if (s.strategy.offload != Offload::none)
    refuse("/strategy/offload", fmt::format("{} with offload is not supported", mode),
           "set offload none");
  if (s.strategy.cycle_s > 0)
    refuse("/strategy/cycle_ms", fmt::format("{} has no negotiation cycle", mode),
           "set cycle_ms 0");
  if (s.compression.two_level)
    refuse("/compression/two_level",
           fmt::format("{} with two-level compression is not supported", mode), "");
  if (s.mitigation.evict.threshold > 0)
    refuse("/mitigation/evict", fmt::format("{} with eviction is not supported", mode),
           "use sync bsp");
  // What averages parameters sends no gradients.
  const bool sends_gradients = s.sync.mode == SyncMode::bsp || s.sync.mode == SyncMode::ssp ||
                               s.sync.mode == SyncMode::async;
  if (!sends_gradients && s.compression.scheme != CompressionScheme::none)
    refuse("/compression", fmt::format("{} exchanges parameters, not gradients", mode),
           "remove it");
}
/// What a framework cannot train at all.
void check_framework(const Scenario& s, const std::string& file, Problems& problems) {
  const ParallelLayout& p = s.parallel;
  const std::string name = s.strategy.preset.empty() ? "the framework" : s.strategy.preset;
  if (!s.strategy.splits_model && p.tp * p.pp * p.cp * p.ep > 1)
    problems.add({file, "/strategy/preset",
                  fmt::format("{} holds the whole model on every GPU; the layout is tp {}, pp {}, "
                              "cp {}, ep {}",
                              name, p.tp, p.pp, p.cp, p.ep),
                  "set them to 1 or choose another strategy"});
  if (!s.strategy.spans_nodes && s.cluster.nodes() > 1)
    problems.add({file, "/strategy/preset",
                  fmt::format("{} trains on one node; the cluster has {}", name, s.cluster.nodes()),
                  "set /cluster/nodes to 1 or choose another strategy"});
}
}  // namespace

void check_tradeoffs(Scenario& s, const std::string& file, Problems& problems) {
  if (s.cluster.groups.empty()) return;
  check_two_level(s, file, problems);
  check_sync(s, file, problems);
  check_framework(s, file, problems);
  if (s.strategy.offload != Offload::none && s.parallel.zero_stage == 0)
    problems.add({file, "/strategy/offload", "needs a sharded optimizer; zero_stage is 0",
                  "set zero_stage 1, 2 or 3"});
  if (s.strategy.offload == Offload::parameters && s.parallel.zero_stage != 3)
    problems.add({file, "/strategy/offload", "parameters can be offloaded at zero_stage 3 only",
                  "use \"optimizer\""});
  if (s.strategy.cycle_s > 0 && (s.parallel.pp > 1 || s.parallel.zero_stage > 0))
    problems.add({file, "/strategy/cycle_ms",
                  "is for plain data parallelism: pp 1 and zero_stage 0", "set cycle_ms 0"});
  if (s.strategy.cycle_s > 0 && s.parallel.dp * s.parallel.cp > 1 &&
      !s.strategy.overlap_grad_reduce)
    problems.add({file, "/strategy/cycle_ms",
                  "needs overlap_grad_reduce: tensors are submitted while the backward runs",
                  "set overlap_grad_reduce"});
}
}  // namespace stepcast
