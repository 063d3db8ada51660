#pragma once
#include <array>
#include <string>
#include <vector>

#include "sim/profile/kernel_profile.hpp"

/// Measured shapes in, one family of utilisation out. Pure: no files, no clock.
namespace stepcast {

/// One measurement: its coordinates in natural units, and utilisation = roofline time / measured
/// time.
struct ShapeSample {
  std::array<double, 4> at{};
  double utilisation = 0;
};

/// A grid over clusters of the measured values of each feature. Values closer than 3 % (64 and 65,
/// 4352 and 4353: a tile more or less) share a node; a node is the mean log utilisation of its
/// samples; empty nodes are filled from their neighbours, those along the first feature counting
/// three times; then a third of each node is replaced by the mean of its two neighbours along the
/// first feature, which takes out measurement noise. On shapes held back this is as good as the
/// nearest measured shapes themselves and better where tables are noisy.
KernelFamily fit_grid(std::string name, std::vector<std::string> features,
                      const std::vector<ShapeSample>& samples, std::string source);

/// Means of log utilisation over buckets, `per_octave` buckets to an octave for each feature (0:
/// exact values are kept).
KernelFamily fit_points(std::string name, std::vector<std::string> features,
                        std::vector<double> weights, std::array<double, 4> per_octave,
                        const std::vector<ShapeSample>& samples, std::string source);

/// Mean of |predicted - measured| / measured time when a quarter of the samples (by a hash of their
/// shape) is left out of the fit that `fit` makes of the rest. Time goes with 1 / utilisation.
template <class Fit>
double hold_out_error(const std::vector<ShapeSample>& samples, Fit fit);
bool is_held_out(const ShapeSample& sample);
double mean_time_error(const KernelFamily& family, const std::vector<ShapeSample>& samples);

template <class Fit>
double hold_out_error(const std::vector<ShapeSample>& samples, Fit fit) {
  std::vector<ShapeSample> kept, held;
  for (const ShapeSample& s : samples) (is_held_out(s) ? held : kept).push_back(s);
  if (kept.empty() || held.empty())
    return 0.2;  // too few to tell: the spread between libraries on one shape
  return mean_time_error(fit(kept), held);
}
}  // namespace stepcast
