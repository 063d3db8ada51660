#include "calibrate/step/step_accounting.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace stepcast::calibrate {

Breakdown step_breakdown(const Timeline& timeline, Nanoseconds begin, Nanoseconds end) {
  // Moments at which something starts or ends, and what is open between them.
  std::map<Nanoseconds, std::vector<std::pair<const Span*, int>>> changes;
  changes[begin];
  changes[end];
  for (const Span& span : timeline.spans) {
    if (timeline.tracks[span.track].stream == "host" ||
        timeline.tracks[span.track].stream == "data")
      continue;
    const Nanoseconds from = std::clamp(span.start, begin, end),
                      to = std::clamp(span.end, begin, end);
    if (from >= to) continue;
    changes[from].emplace_back(&span, 1);
    changes[to].emplace_back(&span, -1);
  }
  std::array<int, kCategories> computing{}, beside{};
  Breakdown breakdown{};
  Nanoseconds last = begin;
  for (const auto& [at, what] : changes) {
    // A collective on the compute stream (tensor parallel, gathered parameters) is exposed by being
    // there.
    const auto owner = [&]() -> std::size_t {
      for (const auto* open : {&computing, &beside})
        for (std::size_t category = 0; category < open->size(); ++category)
          if ((*open)[category] > 0) return category;
      return static_cast<std::size_t>(Category::launch_gap);
    };
    breakdown[owner()] += seconds_from_ns(at - last).value;
    last = at;
    for (const auto& [span, by] : what) {
      auto& open = timeline.tracks[span->track].stream == "compute" ? computing : beside;
      open[static_cast<std::size_t>(span->category)] += by;
    }
  }
  return breakdown;
}
}  // namespace stepcast::calibrate
