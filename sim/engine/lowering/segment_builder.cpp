#include "sim/engine/lowering/segment_builder.hpp"

#include <algorithm>

namespace stepcast {

void SegmentBuilder::add(const std::string& name, Category category, Seconds duration, Seconds host,
                         bool scales, std::int32_t transfer) {
  segment_.pieces.push_back({names_.id_of(name), category, static_cast<float>(duration.value),
                             static_cast<float>(host.value), scales, transfer});
  segment_.host += host.value;
  // Bounds hold what is known so far: the issue time, and minus what ran before; `take` turns that
  // into what is left.
  segment_.bounds.push_back({segment_.host, -segment_.scaled, -segment_.fixed});
  (scales ? segment_.scaled : segment_.fixed) += duration.value;
  segment_.by_category[static_cast<std::size_t>(category)] += duration.value;
}

Segment SegmentBuilder::take() {
  Segment done = std::move(segment_);
  segment_ = Segment{};
  for (Segment::Bound& bound : done.bounds) {
    bound.scaled_left += done.scaled;
    bound.fixed_left += done.fixed;
  }
  done.bounds = done.host > 0 ? undominated(std::move(done.bounds)) : std::vector<Segment::Bound>{};
  return done;
}

std::vector<Segment::Bound> undominated(std::vector<Segment::Bound> bounds) {
  constexpr double kLeast = 1.0 / 8,
                   kMost =
                       64;  // far outside any slowdown that a scenario may state for a whole run
  // Line of a bound: value(f) = (issued + fixed_left) + scaled_left * f. Scan by falling slope:
  // envelope from large f.
  const auto value = [](const Segment::Bound& b, double f) {
    return b.issued + b.fixed_left + b.scaled_left * f;
  };
  std::sort(bounds.begin(), bounds.end(), [&](const Segment::Bound& a, const Segment::Bound& b) {
    if (a.scaled_left != b.scaled_left) return a.scaled_left > b.scaled_left;
    return a.issued + a.fixed_left > b.issued + b.fixed_left;
  });
  std::vector<Segment::Bound> hull;
  double top = kMost;  // hull.back() leads below this f
  std::vector<double> leads_below;
  for (const Segment::Bound& bound : bounds) {
    if (!hull.empty() && hull.back().scaled_left == bound.scaled_left) continue;
    while (!hull.empty()) {
      const Segment::Bound& last = hull.back();
      // `bound` is flatter: it leads where f is below the crossing.
      const double crossing =
          (value(bound, 0) - value(last, 0)) / (last.scaled_left - bound.scaled_left);
      top = std::min(leads_below.back(), crossing);
      if (crossing < leads_below.back()) break;
      hull.pop_back();
      leads_below.pop_back();
      top = kMost;
    }
    if (hull.empty()) top = kMost;
    if (top <= kLeast) continue;
    hull.push_back(bound);
    leads_below.push_back(top);
  }
  return hull;
}
}  // namespace stepcast
