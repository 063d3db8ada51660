#pragma once
#include "sim/engine/step_executor.hpp"
#include "sim/profile/profile.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/workload/memory_model.hpp"

namespace stepcast {
struct Extrapolation { std::string what, nearest_measured; double share_of_step = 0; };
struct Forecast {
  StepOutcome outcome;
  std::vector<double> step_times;  // one per simulated step and run
  ModelWork work;
  std::vector<StageMemory> memory;
  std::vector<Extrapolation> extrapolated;
  std::vector<std::string> warnings;   // inputs without effect, host-bound share ...
  double relative_sigma = 0;           // calibration uncertainty of the step
  double host_bound_share = 0;
  int simulated_workers = 0, world = 0;
  bool is_folded = false;
};
struct SimulateOptions { EngineKind engine = EngineKind::simgrid; ExecuteOptions execute; };

/// Amounts -> seconds, ranks, groups and routes. Folds equal replicas into one worker when nothing tells them apart:
/// uniform nodes, no stragglers or jitter, non-blocking fabric, no link events, linear placement, scenario.run.fold.
Job lower(const Scenario& scenario, const StepGraph& graph, const ModelWork& work, const Profile& profile,
          std::vector<Extrapolation>* extrapolated = nullptr);

/// The whole road for one scenario: graph, lowering, engine, memory.
Forecast simulate(const Scenario& scenario, const Profile& profile, const SimulateOptions& options = {});

/// What of a rank's memory is context and library buffers rather than tensors: allocators do not count it.
double context_bytes(const Profile& profile);

struct SweepPoint { Bytes size; double time_s = 0, algbw = 0, busbw = 0; };
/// A bare collective over all GPUs of the cluster at each size, through the engine's flows: an nccl-tests run.
std::vector<SweepPoint> simulate_collectives(const Scenario& scenario, const Profile& profile, EngineKind engine);
}  // namespace stepcast
