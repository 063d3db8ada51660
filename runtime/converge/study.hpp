#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/converge/training.hpp"

namespace stepcast::runtime {

struct Interval {
  double low = 0, middle = 0, high = 0;
};
/// One setting trained over several seeds.
struct StudyResult {
  std::vector<TrainingOutcome> runs;  // by seed
  int reached = 0, diverged = 0;
  /// Steps of the global batch to the target: median, and a 90 % interval over seeds of the
  /// *median* by resampling. Runs that did not get there count as infinitely many steps.
  Interval steps_to_target;
  Interval final_loss;
  double gradient_noise_scale = 0;  // median over seeds with an estimate
};

/// Trains every setup with its `spec.seeds` seeds (setup.seed, + 1, ...) on `jobs` threads. `done`
/// is told after each run, from any thread, one at a time.
std::vector<StudyResult> study(const std::vector<TrainingSetup>& setups, int jobs,
                               const std::function<void()>& done = {});
}  // namespace stepcast::runtime
