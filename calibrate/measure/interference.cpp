#include "calibrate/measure/interference.hpp"

#include <algorithm>

namespace stepcast::calibrate {
namespace {
/// 1 / (1 - share), the share lost of a time.
double slowdown(double lost_s, double of_s) {
  if (of_s <= 0) return 1;
  return 1 / (1 - std::clamp(lost_s / of_s, 0.0, 1 - 1 / kLargestSlowdown));
}
}  // namespace

Interference interference_of(const SideBySide& times) {
  const double both = std::min(times.compute, times.side);
  return {.compute = slowdown(times.compute - times.compute_alone, both),
          .side = slowdown(times.side - times.side_alone, both)};
}
double slowdown_by_charged_work(const SideBySide& times) {
  return slowdown(times.compute - times.compute_alone, times.side_alone);
}
}  // namespace stepcast::calibrate
