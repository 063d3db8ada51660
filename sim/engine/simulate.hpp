#pragma once
#include <functional>

#include "sim/data/data_forecast.hpp"
#include "sim/engine/step_executor.hpp"
#include "sim/profile/profile.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/sync/sync_job.hpp"
#include "sim/workload/memory_model.hpp"

namespace stepcast {
struct Extrapolation {
  std::string what, nearest_measured;
  double share_of_step = 0;
};
/// A node taken out of a run because it was slow.
struct Eviction {
  int step = 0, node = 0;
  double slowness = 1;
  bool has_spare = false;
};
struct Forecast {
  StepOutcome outcome;
  std::vector<double> step_times;  // one per simulated step and run
  ModelWork work;
  std::vector<StageMemory> memory;
  std::vector<Extrapolation> extrapolated;
  std::vector<std::string> warnings;  // inputs without effect, host-bound share ...
  double relative_sigma = 0;          // calibration uncertainty of the step
  double host_bound_share = 0;
  int simulated_workers = 0, world = 0;
  bool is_folded = false;
  std::optional<double>
      straggler_free_s;  // the same step without the scenario's stragglers, where it has any
  std::vector<Eviction> evictions;
  double run_s = 0;                  // all steps of the first run with their standstills
  std::optional<SyncOutcome> sync;   // of scenarios that are not in lockstep
  std::optional<DataForecast> data;  // of scenarios that say how samples are read
};
struct SimulateOptions {
  EngineKind engine = EngineKind::simgrid;
  ExecuteOptions execute;
  /// Called with what ran and its times, op by op, once the first step of a lockstep run is over.
  std::function<void(const Job&, const StepOutcome&)> on_first_step;
};

/// Amounts -> seconds, ranks, groups and routes. Folds equal replicas into one worker when nothing
/// tells them apart: uniform nodes, no stragglers or jitter, non-blocking fabric, no link events,
/// linear placement, scenario.run.fold.
Job lower(const Scenario& scenario, const StepGraph& graph, const ModelWork& work,
          const Profile& profile, std::vector<Extrapolation>* extrapolated = nullptr);

/// The whole road for one scenario: graph, lowering, engine, memory.
Forecast simulate(const Scenario& scenario, const Profile& profile,
                  const SimulateOptions& options = {});

/// One thing that could be done, and the mean step with it.
struct StragglerRemedy {
  std::string what;
  double step_s = 0;
};
/// What stragglers cost over many steps and who is behind it, by simulating the same steps (same
/// random numbers) without parts.
struct StragglerAnalysis {
  std::vector<double> step_s;  // as the scenario is
  double mean_s = 0, straggler_free_s = 0;
  std::vector<StragglerRemedy> causes;    // without /stragglers/i
  std::vector<StragglerRemedy> nodes;     // the slowest nodes, each replaced by a healthy one
  std::vector<StragglerRemedy> stages;    // each stage healthy
  std::vector<StragglerRemedy> remedies;  // removing, rebalancing, backup workers
  std::vector<std::pair<int, int>>
      critical_steps;  // node, steps in which one of its workers computed longest; most first
};
StragglerAnalysis analyse_stragglers(const Scenario& scenario, const Profile& profile,
                                     EngineKind engine);

/// What of a rank's memory is context and library buffers rather than tensors: allocators do not
/// count it.
double context_bytes(const Profile& profile);

struct SweepPoint {
  Bytes size;
  double time_s = 0, algbw = 0, busbw = 0, relative_sigma = 0;
};
/// A bare collective over all GPUs of the cluster at each size, through the engine's flows: an
/// nccl-tests run.
std::vector<SweepPoint> simulate_collectives(const Scenario& scenario, const Profile& profile,
                                             EngineKind engine);
}  // namespace stepcast
