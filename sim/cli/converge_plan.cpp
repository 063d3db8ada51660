#include "sim/cli/converge_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/core/assert.hpp"
#include "sim/core/result.hpp"

namespace stepcast {
namespace {
using runtime::UpdateKind;
constexpr int kMostWorkers = 256;  // trained in one process

std::optional<runtime::CompressorChoice> compressor_of(const Scenario& s) {
  const CompressionSpec& c = s.compression;
  if (c.scheme == CompressionScheme::none) return std::nullopt;
  const bool is_dgc = c.scheme == CompressionScheme::dgc;
  return runtime::CompressorChoice{.scheme = is_dgc ? "topk" : std::string(text_of(c.scheme)),
                                   .ratio = c.ratio,
                                   .rank = c.rank,
                                   .has_error_feedback = c.error_feedback,
                                   .seed = s.run.seed};
}

std::string compression_text(const CompressionSpec& c) {
  std::string text(text_of(c.scheme));
  using enum CompressionScheme;
  if (c.scheme == topk || c.scheme == randomk || c.scheme == dgc)
    text += fmt::format(" {:g} %", 100 * c.ratio);
  if (c.scheme == powersgd) text += fmt::format(" rank {}", c.rank);
  if (c.scheme != none && !c.error_feedback) text += ", no feedback";
  return text;
}

/// Replicas of one stage that share a node: ranks count tensor and context parallel first.
int replicas_per_node(const Scenario& s) {
  const int gpus = s.cluster.groups.empty() ? 1 : s.cluster.groups.front().spec.gpus;
  return std::clamp(gpus / (s.parallel.tp * s.parallel.cp), 1, std::max(1, s.parallel.dp));
}

UpdateKind kind_of(const SyncSpec& sync) {
  switch (sync.mode) {
    case SyncMode::bsp:
      return UpdateKind::lockstep;
    case SyncMode::ssp:
    case SyncMode::async:
      return UpdateKind::stale;
    case SyncMode::local_sgd:
    case SyncMode::hierarchical:
      return UpdateKind::averaging;
    case SyncMode::elastic:
      return UpdateKind::elastic;
    case SyncMode::gossip:
      return sync.peers == GossipPeers::ring ? UpdateKind::ring : UpdateKind::pairs;
  }
  STEPCAST_ASSERT(false, "every mode is trained in some way");
  return UpdateKind::lockstep;
}

std::string sync_text(const SyncSpec& sync) {
  std::string text(text_of(sync.mode));
  if (sync.mode == SyncMode::ssp)
    text += fmt::format(" {}", sync.staleness);
  else if (sync.period > 1)
    text += fmt::format(" {}", sync.period);
  if (sync.backup_workers > 0) text += fmt::format(", {} backup", sync.backup_workers);
  return text;
}

void take_order(const SyncOutcome& outcome, runtime::UpdateOrder& order) {
  for (const SyncUpdate& update : outcome.updates) {
    if (order.kind == UpdateKind::lockstep) {
      order.recorded_steps = std::max<std::int64_t>(order.recorded_steps, update.step + 1);
      if (!update.is_dropped) continue;
    } else if (update.is_dropped) {
      continue;
    }
    order.entries.push_back({.worker = update.worker,
                             .step = update.step,
                             .peer = update.peer,
                             .staleness = update.staleness,
                             .is_dropped = update.is_dropped});
  }
}
}  // namespace

ConvergePlan converge_plan(const Scenario& s, const Forecast& forecast) {
  ConvergePlan plan;
  runtime::TrainingSetup& t = plan.training;
  t.spec = s.converge;
  t.seed = s.run.seed;
  t.compressor = compressor_of(s);
  t.compressor_warmup_steps = s.compression.warmup_steps;
  t.order.kind = kind_of(s.sync);
  t.order.period = s.sync.period;
  const int replicas = s.parallel.dp;
  const std::vector<double>& steps =
      forecast.sync ? forecast.sync->step_times : forecast.step_times;
  STEPCAST_ASSERT(!steps.empty(), "a simulated scenario has a step");
  plan.step_s =
      std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size());
  if (forecast.sync) {
    t.order.workers = static_cast<int>(forecast.sync->per_worker.size());
    if (t.order.workers > kMostWorkers)
      throw InputError(
          Problem{s.file, "/parallel/dp",
                  fmt::format("{} workers out of lockstep would be trained", t.order.workers),
                  fmt::format("at most {}; fewer nodes show the same mechanism", kMostWorkers)});
    if (s.converge.workers > 0 && s.converge.workers != t.order.workers)
      throw InputError(
          Problem{s.file, "/converge/workers",
                  fmt::format("is {}, but the order of updates was simulated for {} workers",
                              s.converge.workers, t.order.workers),
                  "leave it out, or change /cluster/nodes"});
    take_order(*forecast.sync, t.order);
    // Replicas that reduce among themselves first are one worker with all their samples.
    t.spec.worker_batch *= std::max(1, replicas / t.order.workers);
  } else {
    t.order.workers =
        s.converge.workers > 0 ? s.converge.workers : std::min(replicas, kMostWorkers);
    if (t.order.workers != replicas)
      plan.notes.push_back(fmt::format("{} workers are trained; the step is that of {} replicas",
                                       t.order.workers, replicas));
    if (s.compression.two_level) t.workers_per_node = replicas_per_node(s);
  }
  const double per_update = static_cast<double>(t.spec.worker_batch) * t.spec.accumulation;
  plan.samples_per_step = per_update * t.order.workers;
  plan.synchronisation = sync_text(s.sync);
  plan.compression = compression_text(s.compression);
  if (s.compression.scheme == CompressionScheme::dgc)
    plan.notes.push_back(
        "dgc is trained as top-k with error feedback and its warm-up, without momentum correction");
  return plan;
}

runtime::TrainingSetup plain_training(const runtime::TrainingSetup& training) {
  runtime::TrainingSetup plain = training;
  plain.order = {.kind = UpdateKind::lockstep, .workers = training.order.workers};
  plain.compressor.reset();
  plain.compressor_warmup_steps = 0;
  return plain;
}
}  // namespace stepcast
