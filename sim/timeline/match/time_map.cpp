#include <algorithm>
#include <cmath>

#include "sim/timeline/match/match.hpp"

namespace stepcast::trace {
TimeMap TimeMap::make(Alignment alignment, const TraceStore& a, const Steps& steps_a,
                      const TraceStore& b, const Steps& steps_b, const Match& match,
                      Nanoseconds manual, bool is_scaled) {
  TimeMap map;
  const auto shift = [&](Nanoseconds offset) {
    map.pieces_ = {{b.begin() + offset, b.begin(), 1}};
  };
  switch (alignment) {
    case Alignment::absolute:
      shift(0);
      return map;
    case Alignment::begin:
      shift(a.begin() - b.begin());
      return map;
    case Alignment::manual:
      shift(manual);
      return map;
    case Alignment::first_common_step:
    case Alignment::every_step:
      break;
  }
  if (match.steps.empty()) {
    shift(a.begin() - b.begin());
    return map;
  }
  const auto range_a = [&](std::size_t i) {
    return steps_a.common[static_cast<std::size_t>(match.steps[i].first)];
  };
  const auto range_b = [&](std::size_t i) {
    return steps_b.common[static_cast<std::size_t>(match.steps[i].second)];
  };
  if (alignment == Alignment::first_common_step) {
    shift(range_a(0).begin - range_b(0).begin);
    return map;
  }
  for (std::size_t i = 0; i < match.steps.size(); ++i) {
    const Steps::Range ra = range_a(i), rb = range_b(i);
    // Ranges of steps may overlap over ranks; a map needs rising borders.
    if (!map.pieces_.empty() &&
        (rb.begin <= map.pieces_.back().b || ra.begin <= map.pieces_.back().a))
      continue;
    const double slope =
        is_scaled && rb.end > rb.begin && ra.end > ra.begin
            ? static_cast<double>(ra.end - ra.begin) / static_cast<double>(rb.end - rb.begin)
            : 1;
    map.pieces_.push_back({ra.begin, rb.begin, slope});
  }
  return map;
}

Nanoseconds TimeMap::b_to_a(Nanoseconds time) const {
  if (pieces_.empty()) return time;
  auto at = std::upper_bound(pieces_.begin(), pieces_.end(), time,
                             [](Nanoseconds t, const Piece& p) { return t < p.b; });
  if (at == pieces_.begin())
    return pieces_.front().a - (pieces_.front().b - time);  // before the first: unscaled
  --at;
  if (at->slope == 1) return at->a + (time - at->b);
  return at->a + std::llround(static_cast<double>(time - at->b) * at->slope);
}

Nanoseconds TimeMap::a_to_b(Nanoseconds time) const {
  if (pieces_.empty()) return time;
  auto at = std::upper_bound(pieces_.begin(), pieces_.end(), time,
                             [](Nanoseconds t, const Piece& p) { return t < p.a; });
  if (at == pieces_.begin()) return pieces_.front().b - (pieces_.front().a - time);
  --at;
  if (at->slope == 1) return at->b + (time - at->a);
  return at->b + std::llround(static_cast<double>(time - at->a) / at->slope);
}
}  // namespace stepcast::trace
