#pragma once
#include <string>
#include <vector>

#include "sim/scenario/straggler_spec.hpp"

namespace stepcast {
/// What a measured series of step times says about the ranks behind it.
struct SeriesFit {
  int warm_up = 0;  // leading steps left out: more than twice the median (compilation, allocation)
  int steps = 0;    // steps that were fitted
  double median_s = 0, mean_s = 0;
  double variation =
      0;  // standard deviation over mean of the steps without spikes and drift, robust (MAD)
  double drift_per_hour = 0;  // Theil-Sen slope over the median; 0 where it is below its own noise
  int spikes = 0;             // steps beyond median + 6 robust deviations
  double rank_sigma =
      0;  // lognormal spread of one rank's step that gives `variation` to the slowest of `ranks`
  double base_s = 0;  // step without stragglers: median over the expected maximum
  BurstSpec burst;    // every_s and slowdown of the spikes; one step long
  std::vector<StragglerSpec> stragglers;  // the same as causes of a scenario, on all ranks
};
/// `ranks`: how many independently jittering ranks meet in each step. Needs 5 steps at least beside
/// warm-up; throws InputError.
SeriesFit fit_step_series(const std::vector<double>& step_s, int ranks, const std::string& name);
}  // namespace stepcast
