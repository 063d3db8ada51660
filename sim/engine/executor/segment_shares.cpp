#include "sim/engine/executor/segment_shares.hpp"

#include <algorithm>
#include <numeric>

namespace stepcast {
namespace {
void normalise(Breakdown& parts, const Breakdown& fallback) {
  double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (sum <= 0) {
    parts = fallback;
    sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  }
  if (sum <= 0) {
    parts = {};
    parts[static_cast<std::size_t>(Category::compute)] = sum = 1;
  }
  for (double& part : parts) part /= sum;
}
}  // namespace

SegmentShares::SegmentShares(const Segment& segment) {
  for (const Piece& piece : segment.pieces)
    (piece.scales ? scaled : fixed)[static_cast<std::size_t>(piece.category)] +=
        static_cast<double>(piece.seconds);
  normalise(scaled, segment.by_category);
  normalise(fixed, segment.by_category);
}

void SegmentShares::book(double busy, double fixed_seconds, Breakdown& into) const {
  const double unstretched = std::min(fixed_seconds, busy), stretched = busy - unstretched;
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] += stretched * scaled[i] + unstretched * fixed[i];
}
}  // namespace stepcast
