#include "sim/timeline/stats/op_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include "sim/timeline/stats/area_scan.hpp"

namespace stepcast::trace {
namespace {
/// The value below which the share q lies; reorders the list. Nearest rank, as a duration that
/// occurred.
Nanoseconds percentile(std::span<Nanoseconds> values, double q) {
  const auto at =
      static_cast<std::size_t>(std::clamp(std::ceil(q * static_cast<double>(values.size())) - 1,
                                          0.0, static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}
}  // namespace

std::vector<OpStatistics> op_statistics(const TraceStore& trace, const Area& area,
                                        const BoundFilter* filter, std::stop_token stop) {
  std::vector<OpStatistics> table(trace.ops().size());
  const auto each = [&](auto&& take) {
    return scan_lanes(trace, area, filter, stop, [&](LaneId lane, SliceId first, SliceId last) {
      if (first < last && trace.start(first) < area.begin) ++first;  // it started before
      for (SliceId s = first; s < last; ++s)
        if (filter == nullptr || filter->matches_on_passing_lane(s, lane)) take(s);
    });
  };
  each([&](SliceId s) { ++table[trace.op_id(s)].count; });
  std::vector<std::size_t> next(table.size() + 1, 0);
  for (std::size_t op = 0; op < table.size(); ++op)
    next[op + 1] = next[op] + static_cast<std::size_t>(table[op].count);
  std::vector<std::size_t> first = next;
  std::vector<Nanoseconds> durations(next.back());
  each([&](SliceId s) {
    const OpId op = trace.op_id(s);
    if (next[op] == first[op + 1]) return;  // the first pass was stopped short
    OpStatistics& row = table[op];
    const Nanoseconds d = trace.duration(s);
    durations[next[op]++] = d;
    row.total += static_cast<double>(d);
    if (row.longest == kNoId || d > row.most) row.most = d, row.longest = s;
  });
  std::vector<OpStatistics> rows;
  for (OpId op = 0; op < table.size(); ++op) {
    OpStatistics& row = table[op];
    const std::span<Nanoseconds> mine(durations.data() + first[op], next[op] - first[op]);
    if (mine.empty()) continue;
    row.op = op, row.count = static_cast<std::int64_t>(mine.size());
    row.mean = row.total / static_cast<double>(mine.size());
    double squares = 0;
    row.least = mine.front();
    for (const Nanoseconds d : mine) {
      const double off = static_cast<double>(d) - row.mean;
      squares += off * off;
      row.least = std::min(row.least, d);
    }
    row.deviation = mine.size() > 1 ? std::sqrt(squares / static_cast<double>(mine.size() - 1)) : 0;
    row.p50 = percentile(mine, 0.50), row.p95 = percentile(mine, 0.95),
    row.p99 = percentile(mine, 0.99);
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OpStatistics& a, const OpStatistics& b) { return a.total > b.total; });
  return rows;
}

Histogram op_histogram(const TraceStore& trace, OpId op, const Area& area, int bins,
                       const BoundFilter* filter) {
  std::vector<Nanoseconds> durations;
  scan_lanes(trace, area, filter, {}, [&](LaneId lane, SliceId first, SliceId last) {
    if (first < last && trace.start(first) < area.begin) ++first;
    for (SliceId s = first; s < last; ++s)
      if (trace.op_id(s) == op && (filter == nullptr || filter->matches_on_passing_lane(s, lane)))
        durations.push_back(trace.duration(s));
  });
  Histogram h;
  h.total = static_cast<std::int64_t>(durations.size());
  if (durations.empty() || bins < 1) return h;
  const auto [least, most] = std::minmax_element(durations.begin(), durations.end());
  // Edges in equal ratios; whole nanoseconds, so that short ops get fewer and wider bins instead of
  // empty ones.
  const double low = std::max<double>(1, static_cast<double>(*least)),
               high = static_cast<double>(*most) + 1;
  h.edges.push_back(*least);
  for (int i = 1; i <= bins; ++i) {
    const auto edge = i == bins ? *most + 1
                                : static_cast<Nanoseconds>(std::llround(
                                      low * std::pow(high / low, static_cast<double>(i) / bins)));
    if (edge > h.edges.back()) h.edges.push_back(edge);
  }
  h.counts.assign(h.edges.size() - 1, 0);
  for (const Nanoseconds d : durations) {
    const auto bin = std::upper_bound(h.edges.begin(), h.edges.end(), d) - h.edges.begin() - 1;
    ++h.counts[static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(bin, 0, static_cast<std::ptrdiff_t>(h.counts.size()) - 1))];
  }
  return h;
}

std::vector<SliceId> longest_slices(const TraceStore& trace, const Area& area, std::size_t count,
                                    const BoundFilter* filter) {
  using Entry = std::pair<Nanoseconds, SliceId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>>
      heap;  // the shortest kept is on top
  scan_lanes(trace, area, filter, {}, [&](LaneId lane, SliceId first, SliceId last) {
    for (SliceId s = first; s < last; ++s) {
      const Nanoseconds d = trace.duration(s);
      if (heap.size() == count && (count == 0 || d <= heap.top().first)) continue;
      if (filter != nullptr && !filter->matches_on_passing_lane(s, lane)) continue;
      if (heap.size() == count) heap.pop();
      heap.emplace(d, s);
    }
  });
  std::vector<SliceId> slices(heap.size());
  for (std::size_t i = slices.size(); i-- > 0; heap.pop()) slices[i] = heap.top().second;
  return slices;
}
}  // namespace stepcast::trace
