#include "sim/import/replay/common_steps.hpp"

#include <algorithm>
#include <limits>

namespace stepcast {

std::vector<CommonSteps> common_steps(std::span<const RankTrace> traces) {
  std::vector<CommonSteps> result(traces.size());
  std::int64_t first_number = std::numeric_limits<std::int64_t>::min();
  for (const RankTrace& t : traces)
    if (!t.steps.empty()) first_number = std::max(first_number, t.steps.front().number);
  const auto place_of_first = [&](const RankTrace& t) {
    return std::find_if(t.steps.begin(), t.steps.end(),
                        [&](const StepMark& s) { return s.number == first_number; });
  };
  const bool is_by_number = std::all_of(traces.begin(), traces.end(), [&](const RankTrace& t) {
    return t.steps.empty() || (!t.are_steps_inferred && place_of_first(t) != t.steps.end());
  });
  std::size_t count = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const RankTrace& t = traces[i];
    if (t.steps.empty()) continue;
    if (is_by_number)
      result[i].first = static_cast<std::size_t>(place_of_first(t) - t.steps.begin());
    count = std::min(count, t.steps.size() - result[i].first);
  }
  for (std::size_t i = 0; i < traces.size(); ++i)
    if (!traces[i].steps.empty()) result[i].count = count;
  return result;
}
}  // namespace stepcast
