#include "sim/engine/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/engine/lowering/lowering.hpp"
#include "sim/engine/lowering/warnings.hpp"

namespace stepcast {
namespace {

double profile_parameter(const Profile& profile, const char* name, double fallback) {
  const auto at = profile.kernels.parameters.find(name);
  return at == profile.kernels.parameters.end() ? fallback : at->second;
}
}  // namespace

/// Held by a training process beside its tensors: CUDA context with the frameworks' kernels and the communication
/// library's buffers. About 0.5 GiB of context on A100 and H100 (nvidia-smi of an idle torch process) and as much again for
/// NCCL channels and cuBLAS workspaces. A profile may state its own.
double context_bytes(const Profile& profile) {
  return profile_parameter(profile, "memory_context_GiB", 1.0) * 1024 * 1024 * 1024;
}

namespace {
MemoryOverhead memory_overhead(const Profile& profile) {
  return {context_bytes(profile), profile_parameter(profile, "memory_fragmentation", 0.0)};
}

bool steps_differ(const Job& job) {
  return std::any_of(job.workers.begin(), job.workers.end(), [](const Worker& w) { return w.jitter_sigma > 0; });
}
bool runs_differ(const Scenario& scenario, const Job& job) {
  return steps_differ(job) || scenario.cluster.placement == PlacementKind::random || scenario.cluster.fabric.routing == Routing::hashed;
}

void add_doubts(const Lowered& lowered, Forecast& forecast) {
  const double step = forecast.outcome.step_s;
  if (step <= 0) return;
  const Worker& critical = lowered.job.workers[forecast.outcome.critical_worker];
  const Doubts& doubts = lowered.doubts[critical.program];
  forecast.relative_sigma = doubts.sigma() / step;
  for (const auto& [what, doubt] : doubts.extrapolated)
    forecast.extrapolated.push_back({what, doubt.nearest_measured, std::min(1.0, doubt.seconds / step)});
  std::stable_sort(forecast.extrapolated.begin(), forecast.extrapolated.end(),
                   [](const Extrapolation& a, const Extrapolation& b) { return a.share_of_step > b.share_of_step; });
}
}  // namespace

Forecast simulate(const Scenario& scenario, const Profile& profile, const SimulateOptions& options) {
  Forecast forecast;
  forecast.work = model_work(scenario.model, scenario.training, scenario.parallel);
  forecast.memory = memory_of(scenario.model, forecast.work, scenario.training, scenario.parallel, memory_overhead(profile));
  forecast.warnings = scenario.unused;
  for (std::string& warning : inputs_without_effect(scenario, forecast.work)) forecast.warnings.push_back(std::move(warning));
  forecast.world = scenario.parallel.world();
  const StepGraph graph = build_step_graph(scenario, forecast.work);
  if (const std::string fault = graph_fault(graph); !fault.empty()) throw InternalError("the step graph is unsound: " + fault);

  Scenario drawn = scenario;
  for (int run = 0; run < std::max(1, scenario.run.runs); ++run) {
    if (run > 0) drawn.run.seed = mixed_bits(scenario.run.seed, static_cast<std::uint64_t>(run));
    Lowered lowered = lower_with_doubts(drawn, graph, profile);
    for (int step = 0; step < std::max(1, scenario.run.steps); ++step) {
      const bool is_first = run == 0 && step == 0;
      if (!is_first && !(step == 0 ? runs_differ(scenario, lowered.job) : steps_differ(lowered.job))) {
        forecast.step_times.push_back(forecast.step_times.back());
        continue;
      }
      lowered.job.seed = mixed_bits(drawn.run.seed, static_cast<std::uint64_t>(step));
      ExecuteOptions execute = options.execute;
      execute.record_timeline = execute.record_timeline && is_first;
      const std::unique_ptr<Network> network = make_network(options.engine);
      StepOutcome outcome = execute_step(lowered.job, *network, execute);
      forecast.step_times.push_back(outcome.step_s);
      if (!is_first) continue;
      forecast.outcome = std::move(outcome);
      forecast.simulated_workers = static_cast<int>(lowered.job.workers.size());
      forecast.is_folded = lowered.job.is_folded;
      add_doubts(lowered, forecast);
    }
  }
  const double step = forecast.outcome.step_s;
  forecast.host_bound_share = step > 0 ? forecast.outcome.breakdown[static_cast<std::size_t>(Category::launch_gap)] / step : 0;
  for (std::size_t i = 0; i < scenario.cluster.link_events.size(); ++i)
    if (const LinkEvent& event = scenario.cluster.link_events[i]; event.at_s >= *std::max_element(forecast.step_times.begin(), forecast.step_times.end()))
      forecast.warnings.push_back(fmt::format("/cluster/link_events/{} has no effect: the step ends before {:.4g} s", i, event.at_s));
  if (forecast.host_bound_share > 0.05)
    forecast.warnings.push_back(fmt::format("host-bound: for {:.0f} % of the step the GPU waits for the host to issue work; fused "
                                            "kernels, CUDA graphs or larger micro-batches help", 100 * forecast.host_bound_share));
  return forecast;
}
}  // namespace stepcast
