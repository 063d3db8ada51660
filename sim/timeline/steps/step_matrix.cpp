#include <cmath>
#include <limits>

#include "sim/core/robust_stats.hpp"
#include "sim/timeline/lod/cell_sums.hpp"
#include "sim/timeline/steps/steps.hpp"

namespace stepcast::trace {
StepMatrix step_matrix(const TraceStore& trace, const Steps& steps) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  StepMatrix m;
  m.steps = steps.numbers.size(), m.ranks = steps.ranks;
  m.seconds.assign(m.steps * m.ranks, kNone), m.busy_seconds = m.seconds, m.ratio = m.seconds;
  const auto states = state_categories(trace);
  const auto rows = state_rows(trace);
  for (std::size_t step = 0; step < m.steps; ++step) {
    std::vector<double> busy;
    for (RankId rank = 0; rank < m.ranks; ++rank) {
      const Steps::Range& range = steps.of(step, rank);
      if (!range.is_present) continue;
      Nanoseconds worked = 0;
      sweep_states(trace, states, rows[rank], range.begin, range.end,
                   [&](Nanoseconds begin, Nanoseconds end, SliceCategory category) {
                     if (is_computing(category) || category == SliceCategory::launch_gap)
                       worked += end - begin;
                   });
      m.seconds[step * m.ranks + rank] = static_cast<double>(range.end - range.begin) * 1e-9;
      m.busy_seconds[step * m.ranks + rank] = static_cast<double>(worked) * 1e-9;
      busy.push_back(static_cast<double>(worked) * 1e-9);
    }
    const double typical = busy.empty() ? 0 : median(busy);
    if (typical > 0)
      for (std::size_t i = step * m.ranks; i < (step + 1) * m.ranks; ++i)
        m.ratio[i] = m.busy_seconds[i] / typical;
  }
  return m;
}
}  // namespace stepcast::trace
