#include <algorithm>
#include <cmath>

#include "sim/core/enum_text.hpp"
#include "sim/timeline/lod/cell_sums.hpp"
#include "sim/timeline/match/match.hpp"

namespace stepcast::trace {
namespace {
/// What fills a step: categories of its slowest rank and idle, in seconds; they add up to `step`.
struct Filling {
  std::array<double, kSliceCategories> seconds{};
  double idle = 0, step = 0;
  bool is_op_by_op = false;  // some step's slowest rank is written so
};

Filling filling_of(const TraceStore& trace, const Steps& steps, const std::vector<int>& which,
                   bool counts_passes) {
  Filling mean;
  const auto states = state_categories(trace);
  auto rows = state_rows(trace);
  if (counts_passes)
    for (LodRow& row : rows)
      std::erase_if(row.lanes, [&](LaneId lane) { return !is_outermost(trace, lane); });
  for (const int step : which) {
    // The rank whose step is longest; of equals (steps that end with a barrier, or the whole trace)
    // the one that idles and waits least: the others wait for it.
    Nanoseconds longest = -1, least_idle = 0;
    RankId slowest = 0;
    std::array<Nanoseconds, kSliceCategories> best{};
    for (RankId rank = 0; rank < steps.ranks; ++rank) {
      const Steps::Range& range = steps.of(static_cast<std::size_t>(step), rank);
      const Nanoseconds length = range.end - range.begin;
      if (!range.is_present || length < longest) continue;
      std::array<Nanoseconds, kSliceCategories> times{};
      Nanoseconds idle = length;
      sweep_states(trace, states, rows[rank], range.begin, range.end,
                   [&](Nanoseconds from, Nanoseconds to, SliceCategory c) {
                     times[static_cast<std::size_t>(c)] += to - from;
                     idle -= to - from;
                   });
      const Nanoseconds unused = idle + times[static_cast<std::size_t>(SliceCategory::bubble)] +
                                 times[static_cast<std::size_t>(SliceCategory::straggler_wait)];
      if (length > longest || unused < least_idle)
        longest = length, least_idle = unused, best = times, slowest = rank;
    }
    if (longest < 0) continue;
    mean.is_op_by_op |= is_op_by_op(trace, slowest);
    const double share = 1e-9 / static_cast<double>(which.size());
    double sum = 0;
    for (std::size_t c = 0; c < best.size(); ++c) {
      mean.seconds[c] += static_cast<double>(best[c]) * share;
      sum += static_cast<double>(best[c]) * share;
    }
    mean.step += static_cast<double>(longest) * share;
    mean.idle += static_cast<double>(longest) * share - sum;
  }
  return mean;
}
}  // namespace

Waterfall waterfall(const TraceStore& a, const Steps& steps_a, const TraceStore& b,
                    const Steps& steps_b, const Match& match) {
  Waterfall w;
  std::vector<int> in_a, in_b;
  const std::size_t skipped = match.steps.size() >= 3 ? 1 : 0;  // the first step warms up
  for (std::size_t i = skipped; i < match.steps.size(); ++i)
    in_a.push_back(match.steps[i].first), in_b.push_back(match.steps[i].second);
  if (in_a.empty()) return w;
  Filling fa = filling_of(a, steps_a, in_a, false), fb = filling_of(b, steps_b, in_b, false);
  if (fa.is_op_by_op != fb.is_op_by_op && a.origin() == "simulated" && b.origin() == "simulated") {
    fa = filling_of(a, steps_a, in_a, true), fb = filling_of(b, steps_b, in_b, true);
    w.counts_passes = true;
  }
  w.step_a = fa.step, w.step_b = fb.step;
  for (std::size_t c = 0; c < kSliceCategories; ++c) {
    const auto category = static_cast<SliceCategory>(c);
    if (fa.seconds[c] != 0 || fb.seconds[c] != 0)
      w.bars.push_back(
          {std::string(text_of(category)), category, false, fb.seconds[c] - fa.seconds[c]});
  }
  w.bars.push_back({"idle", SliceCategory::other, true, fb.idle - fa.idle});
  std::stable_sort(w.bars.begin(), w.bars.end(), [](const auto& x, const auto& y) {
    return std::abs(x.seconds) > std::abs(y.seconds);
  });
  return w;
}
}  // namespace stepcast::trace
