#pragma once
#include "sim/engine/job.hpp"

namespace stepcast {
/// How a segment's GPU time divides among categories, for the part that a slow rank stretches and
/// for the rest. From the pieces; without pieces from by_category.
struct SegmentShares {
  Breakdown scaled{}, fixed{};  // each sums to 1 where there is such time
  explicit SegmentShares(const Segment& segment);
  /// Books `busy` seconds of GPU time of which `fixed_seconds` do not stretch.
  void book(double busy, double fixed_seconds, Breakdown& into) const;
};
}  // namespace stepcast
