#include "calibrate/fit/size_curve_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace stepcast {
namespace {
struct Base {
  double alpha = 0, per_byte = 0, power = 1;
  double at(double size) const {
    return std::pow(std::pow(alpha, power) + std::pow(per_byte * size, power), 1 / power);
  }
};

/// The base curve with the least sum of |log error|, over a grid around the first and the last
/// sample.
Base fit_base(const std::vector<SizeSample>& samples) {
  Base best;
  double best_error = std::numeric_limits<double>::infinity();
  const double first = samples.front().second,
               last_rate = samples.back().second / samples.back().first;
  // p < 1 blends start-up and wire slowly, as a choice among protocols does; p = 1 adds them.
  for (const double power : {0.6, 0.7, 0.8, 0.9, 1.0, 1.2})
    for (const double alpha : {0.8, 0.9, 1.0, 1.1, 1.2, 1.35})
      for (const double rate : {0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05}) {
        const Base base{first * alpha, last_rate * rate, power};
        double error = 0;
        for (const auto& [size, time] : samples) error += std::fabs(std::log(base.at(size) / time));
        if (error < best_error) {
          best_error = error;
          best = base;
        }
      }
  return best;
}

std::vector<SizeSample> merged(std::vector<SizeSample> samples) {
  std::map<double, std::pair<double, int>> by_size;
  for (const auto& [size, time] : samples) {
    auto& [sum, count] = by_size[size];
    sum += std::log(time);
    ++count;
  }
  std::vector<SizeSample> out;
  for (const auto& [size, entry] : by_size)
    out.emplace_back(size, std::exp(entry.first / entry.second));
  return out;
}
}  // namespace

std::vector<SizeSample> fit_size_curve(const std::vector<SizeSample>& raw, double smoothness) {
  const std::vector<SizeSample> samples = merged(raw);
  if (samples.size() < 3) return samples;
  const Base base = fit_base(samples);
  const int first = static_cast<int>(std::floor(std::log2(samples.front().first) + 1e-9));
  const int last =
      std::max(first + 2, static_cast<int>(std::ceil(std::log2(samples.back().first) - 1e-9)));
  const int n = last - first + 1;

  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(n, n);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
  for (const auto& [size, time] : samples) {
    const double u = std::log2(size) - first;
    const int i = std::clamp(static_cast<int>(u), 0, n - 2);
    const double w = u - i, residual = std::log(time / base.at(size));
    const double weights[2] = {1 - w, w};
    for (int a = 0; a < 2; ++a) {
      right(i + a) += weights[a] * residual;
      for (int b = 0; b < 2; ++b) normal(i + a, i + b) += weights[a] * weights[b];
    }
  }
  const auto penalise = [&](int at, const std::vector<double>& stencil, double weight) {
    for (std::size_t a = 0; a < stencil.size(); ++a)
      for (std::size_t b = 0; b < stencil.size(); ++b)
        normal(at + static_cast<int>(a), at + static_cast<int>(b)) +=
            weight * stencil[a] * stencil[b];
  };
  for (int i = 0; i + 2 < n; ++i) penalise(i, {1, -2, 1}, smoothness);
  for (int i = 0; i + 1 < n; ++i) penalise(i, {-1, 1}, 0.05 * smoothness);
  const Eigen::VectorXd residuals = normal.ldlt().solve(right);

  std::vector<SizeSample> knots;
  for (int i = 0; i < n; ++i) {
    const double size = std::exp2(first + i);
    knots.emplace_back(size, base.at(size) * std::exp(residuals(i)));
  }
  return knots;
}
}  // namespace stepcast
