#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/core/enum_text.hpp"
#include "sim/timeline/match/match.hpp"

namespace stepcast::trace {
namespace {
struct Side {
  std::vector<Nanoseconds> durations;
  double total = 0;
  SliceCategory category{};
};

/// A computing slice around others of its stream ("forward" around its ops): see sweep_states.
bool encloses_others(const TraceStore& trace, LaneId lane, SliceId s) {
  const TrackInfo& track = trace.tracks()[trace.lanes()[lane].track];
  if (track.kind != TrackKind::device_stream || !is_computing(trace.category(s))) return false;
  for (LaneId inner = lane + 1; inner < track.first_lane + track.lanes; ++inner) {
    const LaneInfo& l = trace.lanes()[inner];
    const SliceId first = trace.first_starting_at(inner, trace.start(s));
    if (first < l.first + l.count && trace.end(first) <= trace.end(s)) return true;
  }
  return false;
}

std::map<std::string, Side> sides_of(const TraceStore& trace, DeltaBy by,
                                     const std::vector<char>& is_counted, bool counts_passes) {
  std::vector<Side*> of_op;
  std::map<std::string, Side> sides;
  for (const Op& op : trace.ops()) {
    Side& side = sides[by == DeltaBy::name ? std::string(trace.text(op.name))
                                           : std::string(text_of(op.shown))];
    of_op.push_back(&side);
    if (op.shown != SliceCategory::overlapped || by == DeltaBy::category) side.category = op.shown;
  }
  for (LaneId lane = 0; lane < trace.lanes().size(); ++lane) {
    const LaneInfo& l = trace.lanes()[lane];
    if (!is_counted.empty() && is_counted[trace.tracks()[l.track].rank] == 0) continue;
    if (counts_passes && !is_outermost(trace, lane)) continue;
    const bool skips_passes = by == DeltaBy::category && !counts_passes;
    for (SliceId s = l.first; s < l.first + l.count; ++s) {
      if (skips_passes && encloses_others(trace, lane, s)) continue;
      Side& side = *of_op[trace.op_id(s)];
      side.durations.push_back(trace.duration(s));
      side.total += static_cast<double>(side.durations.back());
    }
  }
  std::erase_if(sides, [](const auto& entry) { return entry.second.durations.empty(); });
  return sides;
}
double p95_of(std::vector<Nanoseconds>& durations) {
  if (durations.empty()) return 0;
  const auto at =
      static_cast<std::ptrdiff_t>(std::ceil(0.95 * static_cast<double>(durations.size()))) - 1;
  std::nth_element(durations.begin(), durations.begin() + at, durations.end());
  return static_cast<double>(durations[static_cast<std::size_t>(at)]) * 1e-9;
}
}  // namespace

std::vector<Delta> delta_table(const TraceStore& a, const Steps& steps_a, const TraceStore& b,
                               const Steps& steps_b, DeltaBy by, double threshold,
                               const CommonDetail& detail) {
  auto side_a = sides_of(a, by, detail.is_counted_a, detail.counts_passes),
       side_b = sides_of(b, by, detail.is_counted_b, detail.counts_passes);
  std::map<std::string, Delta> table;
  const auto share = [&](const TraceStore& trace, const Steps& steps) {
    const std::size_t ranks =
        detail.ranks > 0 ? static_cast<std::size_t>(detail.ranks) : trace.ranks().size();
    return 1e-9 / static_cast<double>(std::max<std::size_t>(1, steps.numbers.size()) *
                                      std::max<std::size_t>(1, ranks));
  };
  const double share_a = share(a, steps_a), share_b = share(b, steps_b);
  for (auto& [label, side] : side_a) {
    Delta& d = table[label];
    d.category = side.category, d.count_a = static_cast<std::int64_t>(side.durations.size()),
    d.total_a = side.total * share_a;
    d.mean_a = side.total * 1e-9 / static_cast<double>(side.durations.size()),
    d.p95_a = p95_of(side.durations);
  }
  for (auto& [label, side] : side_b) {
    Delta& d = table[label];
    if (d.count_a == 0) d.category = side.category;
    d.count_b = static_cast<std::int64_t>(side.durations.size()), d.total_b = side.total * share_b;
    d.mean_b = side.total * 1e-9 / static_cast<double>(side.durations.size()),
    d.p95_b = p95_of(side.durations);
  }
  double all = 0;
  for (const auto& [label, d] : table) all += std::abs(d.difference());
  std::vector<Delta> rows;
  for (auto& [label, d] : table) {
    d.label = label;
    d.contribution = all > 0 ? d.difference() / all : 0;
    d.is_change =
        d.count_a == 0 || d.count_b == 0 || std::abs(d.mean_b - d.mean_a) > threshold * d.mean_a;
    rows.push_back(std::move(d));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Delta& x, const Delta& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
  return rows;
}

DeltaMatrix step_deltas(const Steps& steps_a, const Steps& steps_b, const Match& match) {
  DeltaMatrix m;
  m.steps = match.steps.size(), m.ranks = steps_a.ranks;
  m.seconds.assign(m.steps * m.ranks, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < m.steps; ++i)
    for (const auto& [ra, rb] : match.ranks) {
      const Steps::Range &x = steps_a.of(static_cast<std::size_t>(match.steps[i].first), ra),
                         &y = steps_b.of(static_cast<std::size_t>(match.steps[i].second), rb);
      if (x.is_present && y.is_present)
        m.seconds[i * m.ranks + ra] =
            static_cast<double>((y.end - y.begin) - (x.end - x.begin)) * 1e-9;
    }
  return m;
}
}  // namespace stepcast::trace
