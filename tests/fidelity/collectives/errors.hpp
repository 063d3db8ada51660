#pragma once
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "sim/core/robust_stats.hpp"

namespace stepcast {
/// Signed relative errors of predictions, summed up.
struct ErrorSummary {
  std::vector<double> errors;
  void add(double predicted, double measured) { errors.push_back(predicted / measured - 1); }
  double absolute(double q) const {
    std::vector<double> sizes;
    for (const double e : errors) sizes.push_back(std::fabs(e));
    return quantile(sizes, q);
  }
  double bias() const { return mean(errors); }
  std::string text() const {
    return fmt::format("{} points, median {:.1f} %, p95 {:.1f} %, bias {:+.1f} %", errors.size(),
                       100 * absolute(0.5), 100 * absolute(0.95), 100 * bias());
  }
};
}  // namespace stepcast
