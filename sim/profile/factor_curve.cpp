#include <cmath>

#include "sim/profile/kernel_profile.hpp"

namespace stepcast {

double FactorCurve::at(double x) const {
  if (points.empty()) return 1.0;
  if (!(x > points.front().first)) return points.front().second;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto& [x0, y0] = points[i - 1];
    const auto& [x1, y1] = points[i];
    if (x <= x1) return y0 + (y1 - y0) * std::log(x / x0) / std::log(x1 / x0);
  }
  return points.back().second;
}
}  // namespace stepcast
