#include "sim/straggler/fit_series.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/expected_maximum.hpp"
#include "sim/core/result.hpp"
#include "sim/core/robust_stats.hpp"

namespace stepcast {
namespace {
constexpr double kNormalPerMad =
    1.4826;  // standard deviation over median absolute deviation of a normal

double robust_deviation(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> off;
  for (const double v : values) off.push_back(std::abs(v - middle));
  return kNormalPerMad * median(off);
}

/// Median of all pairwise slopes over a step's index: one outlier, or a third of them, does not
/// move it.
double theil_sen_slope(const std::vector<double>& y) {
  std::vector<double> slopes;
  const std::size_t stride = std::max<std::size_t>(1, y.size() / 400);  // at most 80,000 pairs
  for (std::size_t a = 0; a < y.size(); a += stride)
    for (std::size_t b = a + 1; b < y.size(); b += stride)
      slopes.push_back((y[b] - y[a]) / static_cast<double>(b - a));
  return slopes.empty() ? 0 : median(slopes);
}

/// sigma of each of n ranks such that the slowest of them varies by `variation` (deviation over
/// mean), by bisection.
double sigma_of_variation(int n, double variation) {
  if (variation <= 0) return 0;
  if (n <= 1)
    return std::sqrt(
        std::log1p(variation * variation));  // lognormal: variation^2 = exp(sigma^2) - 1
  double low = 0, high = 3;
  for (int i = 0; i < 50; ++i) {
    const double middle = 0.5 * (low + high);
    (deviation_of_maximum_lognormal(n, middle) / expected_maximum_lognormal(n, middle) < variation
         ? low
         : high) = middle;
  }
  return 0.5 * (low + high);
}
}  // namespace

SeriesFit fit_step_series(const std::vector<double>& all, int ranks, const std::string& name) {
  constexpr std::size_t kFewest = 5;
  SeriesFit fit;
  std::vector<double> steps = all;
  if (!steps.empty()) {
    const double middle = median(steps);
    while (!steps.empty() && steps.front() > 2 * middle) {
      steps.erase(steps.begin());
      ++fit.warm_up;
    }
  }
  if (steps.size() < kFewest)
    throw InputError(Problem{
        name, "",
        std::to_string(steps.size()) + " steps beside warm-up say nothing about their spread",
        "give " + std::to_string(kFewest) + " or more"});
  fit.steps = static_cast<int>(steps.size());
  fit.median_s = median(steps);
  for (const double s : steps) fit.mean_s += s / static_cast<double>(steps.size());

  // Drift counts where it moves the last step by more than twice the noise of a median of that many
  // steps.
  const double slope = theil_sen_slope(steps);
  const double noise = robust_deviation(steps);
  const double moved = std::abs(slope) * static_cast<double>(steps.size());
  std::vector<double> level = steps;
  if (moved > 2 * noise) {
    fit.drift_per_hour = slope / fit.median_s * 3600 / fit.median_s;
    for (std::size_t i = 0; i < level.size(); ++i)
      level[i] -= slope * (static_cast<double>(i) - 0.5 * static_cast<double>(level.size()));
  }
  const double middle = median(level), spread = robust_deviation(level);
  std::vector<double> calm;
  double excess = 0;
  for (const double s : level) {
    if (spread > 0 && s > middle + 6 * spread) {
      ++fit.spikes;
      excess += s - middle;
    } else {
      calm.push_back(s);
    }
  }
  double variance = 0, mean_calm = 0;
  for (const double s : calm) mean_calm += s / static_cast<double>(calm.size());
  for (const double s : calm)
    variance += (s - mean_calm) * (s - mean_calm) /
                static_cast<double>(std::max<std::size_t>(1, calm.size() - 1));
  fit.variation = mean_calm > 0 ? std::sqrt(variance) / mean_calm : 0;
  constexpr double kRounding = 1e-12;  // equal steps vary by what their sum was rounded
  if (fit.variation < kRounding) fit.variation = 0;
  fit.rank_sigma = sigma_of_variation(ranks, fit.variation);
  fit.base_s = mean_calm / expected_maximum_lognormal(std::max(1, ranks), fit.rank_sigma);

  if (fit.rank_sigma > 0) {
    StragglerSpec jitter;
    jitter.jitter = {
        .kind = JitterKind::lognormal, .each = JitterScope::step, .sigma = fit.rank_sigma};
    fit.stragglers.push_back(jitter);
  }
  if (fit.spikes > 0) {
    // A spike is some rank's burst of one step. On every rank they are rarer by the number of
    // ranks.
    fit.burst.every_s =
        middle * static_cast<double>(steps.size()) / fit.spikes * std::max(1, ranks);
    // A burst of length d at factor f loses d (1 - 1/f): the mean excess of a spike.
    const double lost = excess / fit.spikes;
    fit.burst.duration_s = std::max(middle, 2 * lost);
    fit.burst.slowdown = 1 / (1 - lost / fit.burst.duration_s);
    StragglerSpec burst;
    burst.burst = fit.burst;
    fit.stragglers.push_back(burst);
  }
  if (fit.drift_per_hour > 0) {
    StragglerSpec drift;
    drift.drift = {.per_hour = fit.drift_per_hour, .limit = 1 + 2 * moved / fit.median_s};
    fit.stragglers.push_back(drift);
  }
  return fit;
}
}  // namespace stepcast
