#pragma once
#include <string>
#include <vector>

#include "runtime/converge/training.hpp"
#include "sim/engine/simulate.hpp"

namespace stepcast {
/// What a scenario's replicas do to learning: the training, the seconds of one step, and what was
/// simplified on the way.
struct ConvergePlan {
  runtime::TrainingSetup training;  // `task` is left to the caller
  double step_s = 0;                // mean simulated seconds per global batch
  double samples_per_step = 0;      // of the small task
  std::string synchronisation;      // "bsp", "ssp 4", "local-sgd 8" ...
  std::string compression;          // "none", "topk 1 %" ...
  std::vector<std::string> notes;
};
/// Throws InputError where the scenario's replicas cannot be trained here.
ConvergePlan converge_plan(const Scenario& scenario, const Forecast& forecast);
/// The same training with plain lockstep and without compression: what the scenario's mechanisms
/// are compared with.
runtime::TrainingSetup plain_training(const runtime::TrainingSetup& training);
}  // namespace stepcast
