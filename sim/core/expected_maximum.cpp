#include "sim/core/expected_maximum.hpp"

#include <cmath>
#include <numbers>

namespace stepcast {
namespace {
double normal_distribution(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// k-th moment of the largest of n. Beyond |z| = 12 the weight is below 1e-32; the factor exp(k
/// sigma z) shifts the mass to k sigma at most, which the upper end allows for.
double moment_of_maximum(int n, double sigma, int k) {
  const double low = -12, high = 12 + k * sigma;
  constexpr int kIntervals = 20000;
  const double step = (high - low) / kIntervals;
  double sum = 0;
  for (int i = 0; i <= kIntervals; ++i) {
    const double z = low + i * step;
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
    const double value = n * std::pow(normal_distribution(z), n - 1) * density *
                         std::exp(k * (sigma * z - 0.5 * sigma * sigma));
    sum += value * (i == 0 || i == kIntervals ? 1 : i % 2 == 1 ? 4 : 2);
  }
  return sum * step / 3;
}
}  // namespace

double expected_maximum_lognormal(int n, double sigma) {
  return sigma > 0 ? moment_of_maximum(n, sigma, 1) : 1;
}

double deviation_of_maximum_lognormal(int n, double sigma) {
  if (sigma <= 0) return 0;
  const double mean = moment_of_maximum(n, sigma, 1);
  return std::sqrt(std::fmax(0.0, moment_of_maximum(n, sigma, 2) - mean * mean));
}
}  // namespace stepcast
