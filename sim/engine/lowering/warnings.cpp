#include "sim/engine/lowering/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/data/batch_amounts.hpp"

namespace stepcast {
namespace {

bool any_op(const ModelWork& work, const auto& wanted) {
  const auto in = [&](const std::vector<Op>& ops) {
    return std::any_of(ops.begin(), ops.end(), wanted);
  };
  return std::any_of(work.kinds.begin(), work.kinds.end(), [&](const LayerWork& layer) {
    return in(layer.forward) || in(layer.recompute) || in(layer.backward);
  });
}

void about_gradients(const Scenario& s, std::vector<std::string>& warnings) {
  const int replicas = group_size(GroupKind::dp, s.parallel);
  if (replicas == 1) {
    if (s.compression.scheme != CompressionScheme::none)
      warnings.push_back(
          fmt::format("/compression: {} has no effect: dp x cp is 1, so no gradient is sent",
                      text_of(s.compression.scheme)));
    if (s.parallel.zero_stage > 0)
      warnings.push_back(fmt::format(
          "/parallel/zero_stage: {} has no effect: dp x cp is 1, so there is nobody to share with",
          s.parallel.zero_stage));
    return;
  }
  const std::int64_t gradient = bytes_per_element(s.training.gradient_precision);
  if (gradient == 2 && (s.compression.scheme == CompressionScheme::fp16 ||
                        s.compression.scheme == CompressionScheme::bf16))
    warnings.push_back(
        fmt::format("/compression: {} saves nothing: gradients already travel in 2 bytes",
                    text_of(s.compression.scheme)));
  if (s.parallel.shard_size > 0 && s.parallel.zero_stage == 0 && !s.compression.two_level)
    warnings.push_back(
        "/parallel/shard_size has no effect: zero_stage is 0, so nothing is sharded");
  else if (s.parallel.shard_size >= replicas && !s.compression.two_level)
    warnings.push_back(
        fmt::format("/parallel/shard_size: {} has no effect: the whole dp group has {} ranks",
                    s.parallel.shard_size, replicas));
  if (!s.strategy.overlap_grad_reduce && s.parallel.zero_stage < 3)
    warnings.push_back(
        "/strategy/bucket_MiB has no effect: overlap_grad_reduce is off, so gradients are reduced "
        "whole");
  // Under ZeRO-3 prefetch takes its place, and presets for FSDP leave it on.
  if (s.strategy.overlap_param_gather && s.parallel.zero_stage == 0)
    warnings.push_back(
        "/strategy/overlap_param_gather has no effect: zero_stage 0 has no parameter gather after "
        "the optimizer");
}

void about_layout(const Scenario& s, const ModelWork& work, std::vector<std::string>& warnings) {
  if (s.parallel.sequence_parallel && s.parallel.tp == 1)
    warnings.push_back("/parallel/sequence_parallel has no effect: tp is 1");
  if (s.strategy.tp_overlap > 0) {
    const bool hides = any_op(work, [](const Op& op) {
      const auto* shape = std::get_if<CollectiveShape>(&op.shape);
      return shape != nullptr && shape->group == GroupKind::tp && op.overlappable;
    });
    if (s.parallel.tp == 1)
      warnings.push_back("/strategy/tp_overlap has no effect: tp is 1");
    else if (!hides)
      warnings.push_back(
          "/strategy/tp_overlap has no effect: only the collectives of sequence parallelism can "
          "hide behind GEMMs");
  }
  if (s.training.recompute_layers > 0 && s.training.recompute != Recompute::full)
    warnings.push_back("/training/recompute_layers has no effect: recompute is not \"full\"");
}

void about_stragglers(const Scenario& s, const ModelWork& work,
                      std::vector<std::string>& warnings) {
  const int world = s.parallel.world();
  for (std::size_t i = 0; i < s.stragglers.size(); ++i) {
    const StragglerSpec& straggler = s.stragglers[i];
    for (const auto& [first, last] : straggler.ranks)
      if (last >= world)
        warnings.push_back(
            fmt::format("/stragglers/{}/ranks: {}-{} reaches beyond the last rank ({})", i, first,
                        last, world - 1));
    if (straggler.is_without_effect())
      warnings.push_back(
          fmt::format("/stragglers/{} has no effect: no slowdown, jitter or pause is given", i));
    if (!straggler.op.empty() &&
        !any_op(work, [&](const Op& op) { return op.name == straggler.op && !op.is_collective(); }))
      warnings.push_back(
          fmt::format("/stragglers/{}/op: no compute op is called {}", i, straggler.op));
  }
}

void about_cluster(const Scenario& s, std::vector<std::string>& warnings) {
  int nodes = 0;
  for (int left = s.parallel.world(); left > 0 && nodes < s.cluster.nodes(); ++nodes)
    left -= s.cluster.node(nodes).gpus;
  if (nodes > 1) return;
  if (s.cluster.placement != PlacementKind::linear)
    warnings.push_back(fmt::format("/cluster/placement: {} has no effect: the job fits on one node",
                                   text_of(s.cluster.placement)));
  if (!s.cluster.link_events.empty())
    warnings.push_back("/cluster/link_events has no effect: the job fits on one node");
}

void about_data(const Scenario& s, std::vector<std::string>& warnings) {
  if (!s.data) return;
  const DataSpec& d = *s.data;
  if (d.workers > d.prefetch && d.workers > 0)
    warnings.push_back(
        fmt::format("/data/workers: only {} of {} ever have a batch to work on: prefetch is {}",
                    d.prefetch, d.workers, d.prefetch));
  // Out of lockstep a replica takes the samples of a whole step at once.
  const std::int64_t batches = s.sync.is_lockstep() ? 1 : micro_batch_count(s.parallel, s.training);
  const BatchAmounts batch =
      batch_amounts(d, static_cast<double>(s.training.micro_batch * batches),
                    d.loader_nodes.count > 0 ? d.loader_nodes.count : s.cluster.nodes());
  if (d.in_flight > 1 && batch.requests < d.in_flight)
    warnings.push_back(
        fmt::format("/data/in_flight: {} has the effect of {:.3g}: a batch takes no more requests",
                    d.in_flight, std::max(1.0, batch.requests)));
  if (d.cache.bytes > 0 && d.epoch == 1)
    warnings.push_back(
        "/data/cache has no effect in the first epoch, which fills it; set /data/epoch");
  if (d.storage.latency_sigma > 0 && s.run.steps == 1 && s.run.runs == 1 && s.sync.is_lockstep())
    warnings.push_back("/data/storage/latency_sigma: one step shows one draw of it; set run.steps");
  if (d.format == DataFormat::parquet && d.shuffle == Shuffle::random && d.read_amplification == 1)
    warnings.push_back(
        "/data/shuffle: random order in Parquet reads a whole row group for a sample; "
        "read_amplification is 1");
  if (s.cluster.groups.size() > 1)
    warnings.push_back("/data/cores and /data/storage are those of every node, whatever its group");
}

void about_runs(const Scenario& s, std::vector<std::string>& warnings) {
  if (s.run.message_level_rings)
    warnings.push_back(
        "/run/message_level_rings has no effect: explicit ring rounds are for bare collective "
        "sweeps");
  if (s.compression.warmup_steps > 0 && !s.sync.is_lockstep())
    warnings.push_back(
        "/compression/warmup_steps has no effect beside /sync: replicas out of lockstep are "
        "simulated as they are after the warm-up");
  else if (s.compression.warmup_steps > 0 && s.run.steps == 1)
    warnings.push_back(
        "/compression/warmup_steps has no effect on one step: the step after the warm-up is "
        "simulated; set run.steps");
  if (s.mitigation.evict.threshold > 0 && s.run.steps <= s.mitigation.evict.window_steps)
    warnings.push_back(fmt::format(
        "/mitigation/evict has no effect: {} steps are over before the first window of {}",
        s.run.steps, s.mitigation.evict.window_steps));
  if (s.mitigation.load_aware_batches && s.stragglers.empty())
    warnings.push_back("/mitigation/load_aware_batches has no effect: there are no stragglers");
  if (s.run.steps == 1 && s.run.runs == 1) return;
  if (!s.sync.is_lockstep()) return;  // steps are what staleness and server queues settle over
  const bool jitters =
      std::any_of(s.stragglers.begin(), s.stragglers.end(),
                  [](const StragglerSpec& x) { return x.varies(); }) ||
      s.mitigation.evict.threshold > 0 || s.compression.warmup_steps > 0 ||
      s.data ||  // loaders bunch their batches
      (s.run.runs > 1 && std::any_of(s.stragglers.begin(), s.stragglers.end(),
                                     [](const StragglerSpec& x) { return !x.jitter.is_none(); }));
  const bool draws_places =
      s.cluster.placement == PlacementKind::random || s.cluster.fabric.routing == Routing::hashed;
  if (!jitters && (s.run.runs == 1 || !draws_places))
    warnings.push_back(
        fmt::format("/run: {} steps and {} runs are all equal: nothing in the scenario is random",
                    s.run.steps, s.run.runs));
}
}  // namespace

std::vector<std::string> inputs_without_effect(const Scenario& scenario, const ModelWork& work) {
  std::vector<std::string> warnings;
  about_gradients(scenario, warnings);
  about_layout(scenario, work, warnings);
  about_stragglers(scenario, work, warnings);
  about_cluster(scenario, warnings);
  about_data(scenario, warnings);
  about_runs(scenario, warnings);
  return warnings;
}

std::string data_stall_warning(const Forecast& forecast) {
  constexpr double kWorthSaying = 0.01;  // of the step
  if (!forecast.data || forecast.data->stall_share < kWorthSaying) return "";
  const DataForecast& data = *forecast.data;
  std::string text = fmt::format("data-bound: for {:.0f} % of the step the GPU waits for samples",
                                 100 * data.stall_share);
  // Batches come in bunches: the step that breakdown and trace show may be another than the mean.
  const double shown =
      forecast.outcome.step_s > 0
          ? forecast.outcome.breakdown[static_cast<std::size_t>(Category::data_stall)] /
                forecast.outcome.step_s
          : 0;
  constexpr double kAlike = 0.25;  // of the mean share
  if (std::abs(shown - data.stall_share) > kAlike * data.stall_share)
    text += fmt::format(" on average ({:.0f} % of the step that is broken down)", 100 * shown);
  if (data.remedies.empty())
    return text + "; on average the loaders keep up, a deeper /data/prefetch helps";
  if (!data.bounds.empty()) text += "; " + data.bounds.front().what + " is the tightest limit";
  for (std::size_t i = 0; i < data.remedies.size(); ++i) {
    const DataRemedy& r = data.remedies[i];
    text += fmt::format("{} {} {:.4g} instead of {:.4g}", i == 0 ? "; helps:" : " and", r.key, r.to,
                        r.from);
  }
  return text;
}
}  // namespace stepcast
