#include "sim/engine/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/data/advice.hpp"
#include "sim/engine/lowering/cycle_plan.hpp"
#include "sim/engine/lowering/lowering.hpp"
#include "sim/engine/lowering/simulate_sync.hpp"
#include "sim/engine/lowering/step_series.hpp"
#include "sim/engine/lowering/warnings.hpp"
#include "sim/profile/parameters.hpp"

namespace stepcast {
/// Held by a training process beside its tensors: CUDA context with the frameworks' kernels and the
/// communication library's buffers. About 0.5 GiB of context on A100 and H100 (nvidia-smi of an
/// idle torch process) and as much again for NCCL channels and cuBLAS workspaces. A profile may
/// state its own.
double context_bytes(const Profile& profile) {
  return parameter(profile.kernels.parameters, "memory_context_GiB", 1.0) * 1024 * 1024 * 1024;
}

namespace {
/// PyTorch FSDP under a MixedPrecision policy, torchtitan and MaxText shard the fp32 parameters and
/// cast what they gather (torch.distributed.fsdp documentation of MixedPrecisionPolicy; MaxText
/// weight_dtype = float32). DeepSpeed and Megatron hold 16-bit parameters beside the optimizer's
/// fp32 copy.
bool shards_fp32(const std::string& framework) {
  return framework.starts_with("pytorch") || framework == "torchtitan" || framework == "jax";
}
MemoryOverhead memory_overhead(const Scenario& scenario, const Profile& profile) {
  return {context_bytes(profile),
          parameter(profile.kernels.parameters, "memory_fragmentation", 0.0),
          shards_fp32(scenario.strategy.framework), scenario.strategy.prefetch,
          !scenario.strategy.reshard_after_forward};
}

bool places_differ(const Scenario& scenario) {
  return scenario.cluster.placement == PlacementKind::random ||
         scenario.cluster.fabric.routing == Routing::hashed;
}
/// Drawn once per run: unequal GPUs.
bool runs_differ(const Scenario& scenario, const StepSeries& series) {
  return series.steps_differ() || places_differ(scenario) ||
         std::any_of(scenario.stragglers.begin(), scenario.stragglers.end(),
                     [](const StragglerSpec& s) {
                       return !s.jitter.is_none() && s.jitter.each == JitterScope::run;
                     });
}

/// Step times of one job on one machine differ by this much from run to run: nodes of one kind by
/// 0.4 to 1.9 % (Lambda's benchmarks, 39 single-GPU and 22 eight-GPU H100 nodes).
constexpr double kRunSigma = 0.01;

/// A pipeline's bubble is as long as the slowest stage's passes, and frameworks fill or stretch it
/// in ways that their schedules do not say. 1-sigma of its length, coarse: with it 92, 81 and 96 %
/// of the public steps of vTrain (one node, many) and BLOOM lie in their intervals, without it the
/// second falls to 68 %.
constexpr double kBubbleSigma = 0.4;

/// Calibration of what the step used, the host where it bounds the step, what steps of the
/// framework leave unexplained, the bubble, and the run itself: independent causes.
void add_doubts(const Lowered& lowered, const Scenario& scenario, const Profile& profile,
                Forecast& forecast) {
  const double step = forecast.outcome.step_s;
  if (step <= 0) return;
  const Worker& critical = lowered.job.workers[forecast.outcome.critical_worker];
  const Doubts& doubts = lowered.doubts[critical.program];
  const auto found = profile.kernels.host.find(scenario.strategy.framework);
  const HostFit host = found == profile.kernels.host.end() ? HostFit{} : found->second;
  const double host_share =
      forecast.outcome.breakdown[static_cast<std::size_t>(Category::launch_gap)] / step;
  const double bubble_share =
      forecast.outcome.breakdown[static_cast<std::size_t>(Category::bubble)] / step;
  forecast.relative_sigma = std::hypot(std::hypot(doubts.sigma() / step, kRunSigma),
                                       std::hypot(host.host_sigma * host_share, host.step_sigma),
                                       kBubbleSigma * bubble_share);
  for (const auto& [what, doubt] : doubts.extrapolated)
    forecast.extrapolated.push_back(
        {what, doubt.nearest_measured, std::min(1.0, doubt.seconds / step)});
  std::stable_sort(forecast.extrapolated.begin(), forecast.extrapolated.end(),
                   [](const Extrapolation& a, const Extrapolation& b) {
                     return a.share_of_step > b.share_of_step;
                   });
}
}  // namespace

namespace {
void take_offloaded_out(Offload offload, std::vector<StageMemory>& stages) {
  if (offload == Offload::none) return;
  for (StageMemory& m : stages) {
    m.total -= m.optimizer;
    m.optimizer = 0;
    if (offload != Offload::parameters) continue;
    m.total -= m.parameters;
    m.parameters = 0;
  }
}

/// DGC keeps 25 %, 6.25 %, 1.56 % and 0.39 % in four equal stages of its warm-up (Lin et al., ICLR
/// 2018, section 3.3).
constexpr int kWarmUpStages = 4;
int warm_up_stage(const CompressionSpec& c, int step, int steps) {
  if (c.warmup_steps == 0 || steps == 1 || step >= c.warmup_steps) return kWarmUpStages;
  return static_cast<int>(static_cast<std::int64_t>(step) * kWarmUpStages / c.warmup_steps);
}
/// Graphs of the stages, made when first asked for; a series refers to them.
class WarmUpGraphs {
 public:
  const StepGraph& of(const Scenario& scenario, const ModelWork& work, int stage) {
    auto& graph = graphs_[stage];
    if (graph.stages.empty()) {
      Scenario denser = scenario;
      denser.compression.ratio = std::max(scenario.compression.ratio, std::pow(0.25, stage + 1));
      graph = build_step_graph(denser, work);
    }
    return graph;
  }

 private:
  std::map<int, StepGraph> graphs_;
};
}  // namespace

Forecast simulate(const Scenario& scenario, const Profile& profile,
                  const SimulateOptions& options) {
  Forecast forecast;
  forecast.work = model_work(scenario.model, scenario.training, scenario.parallel);
  forecast.memory = memory_of(scenario.model, forecast.work, scenario.training, scenario.parallel,
                              memory_overhead(scenario, profile));
  forecast.warnings = scenario.unused;
  for (std::string& warning : inputs_without_effect(scenario, forecast.work))
    forecast.warnings.push_back(std::move(warning));
  forecast.world = scenario.parallel.world();
  take_offloaded_out(scenario.strategy.offload, forecast.memory);
  const std::optional<BucketPlan> plan = plan_cycles(scenario, forecast.work, profile);
  const StepGraph graph = build_step_graph(scenario, forecast.work, plan ? &*plan : nullptr);
  if (const std::string fault = graph_fault(graph); !fault.empty())
    throw InternalError("the step graph is unsound: " + fault);

  if (!scenario.sync.is_lockstep()) {
    simulate_sync(scenario, graph, profile, options, forecast);
    if (std::string warning = data_stall_warning(forecast); !warning.empty())
      forecast.warnings.push_back(std::move(warning));
    return forecast;
  }
  Scenario drawn = scenario;
  WarmUpGraphs warm_up;
  double stalled_s = 0, stepped_s = 0;  // over the steps that were simulated
  int stepped = 0;
  for (int run = 0; run < std::max(1, scenario.run.runs); ++run) {
    if (run > 0) drawn.run.seed = mixed_bits(scenario.run.seed, static_cast<std::uint64_t>(run));
    StepSeries series(drawn, graph, profile);
    int at_stage = kWarmUpStages;
    if (run > 0 && !runs_differ(scenario, series)) {
      for (int step = 0; step < std::max(1, scenario.run.steps); ++step)
        forecast.step_times.push_back(forecast.step_times[static_cast<std::size_t>(step)]);
      continue;
    }
    for (int step = 0; step < std::max(1, scenario.run.steps); ++step) {
      const bool is_first = run == 0 && step == 0;
      if (step > 0 && !series.steps_differ() &&
          warm_up_stage(scenario.compression, step, scenario.run.steps) == at_stage) {
        forecast.step_times.push_back(forecast.step_times.back());
        if (run == 0) forecast.run_s += forecast.step_times.back();
        continue;
      }
      ExecuteOptions execute = options.execute;
      execute.record_timeline = execute.record_timeline && is_first;
      execute.record_op_times = is_first && options.on_first_step != nullptr;
      if (const int stage = warm_up_stage(scenario.compression, step, scenario.run.steps);
          stage != at_stage) {
        at_stage = stage;
        series.use_graph(stage < kWarmUpStages ? warm_up.of(scenario, forecast.work, stage)
                                               : graph);
      }
      // An eviction at the end of the step lowers the job anew.
      std::optional<Job> watched;
      if (execute.record_op_times) watched = series.lowered().job;
      StepOutcome outcome = series.next(options.engine, execute);
      forecast.step_times.push_back(outcome.step_s);
      stalled_s += outcome.breakdown[static_cast<std::size_t>(Category::data_stall)];
      stepped_s += outcome.step_s;
      ++stepped;
      if (run == 0) forecast.run_s = series.clock_s();
      if (!is_first) continue;
      if (watched) options.on_first_step(*watched, outcome);
      forecast.outcome = std::move(outcome);
      forecast.simulated_workers = static_cast<int>(series.lowered().job.workers.size());
      forecast.is_folded = series.lowered().job.is_folded;
      add_doubts(series.lowered(), scenario, profile, forecast);
      if (scenario.data)
        forecast.data =
            data_forecast(*scenario.data, series.lowered().loaders, *series.unstalled_s());
    }
    if (run == 0) forecast.evictions = series.evictions();
  }
  if (forecast.data && stepped_s > 0) {
    forecast.data->stall_s = stalled_s / stepped;
    forecast.data->stall_share = stalled_s / stepped_s;
  }
  if (!scenario.stragglers.empty()) {
    Scenario calm = scenario;
    calm.stragglers.clear();
    calm.mitigation = {};
    forecast.straggler_free_s = StepSeries(calm, graph, profile).next(options.engine, {}).step_s;
  }
  const double step = forecast.outcome.step_s;
  forecast.host_bound_share =
      step > 0 ? forecast.outcome.breakdown[static_cast<std::size_t>(Category::launch_gap)] / step
               : 0;
  for (std::size_t i = 0; i < scenario.cluster.link_events.size(); ++i)
    if (const LinkEvent& event = scenario.cluster.link_events[i];
        event.at_s >= *std::max_element(forecast.step_times.begin(), forecast.step_times.end()))
      forecast.warnings.push_back(fmt::format(
          "/cluster/link_events/{} has no effect: the step ends before {:.4g} s", i, event.at_s));
  if (forecast.host_bound_share > 0.05)
    forecast.warnings.push_back(fmt::format(
        "host-bound: for {:.0f} % of the step the GPU waits for the host to issue work; fused "
        "kernels, CUDA graphs or larger micro-batches help",
        100 * forecast.host_bound_share));
  if (std::string warning = data_stall_warning(forecast); !warning.empty())
    forecast.warnings.push_back(std::move(warning));
  return forecast;
}
}  // namespace stepcast
