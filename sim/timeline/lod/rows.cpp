#include <algorithm>
#include <array>
#include <numeric>

#include "sim/timeline/lod/cell_sums.hpp"

namespace stepcast::trace {

std::vector<LodRow> lane_rows(const TraceStore& trace) {
  std::vector<LodRow> rows(trace.lanes().size());
  for (LaneId lane = 0; lane < rows.size(); ++lane) rows[lane].lanes = {lane};
  return rows;
}

std::vector<LodRow> state_rows(const TraceStore& trace, std::span<const RankId> order) {
  std::vector<RankId> all(trace.ranks().size());
  std::iota(all.begin(), all.end(), RankId{0});
  if (order.empty()) order = all;
  std::vector<LodRow> rows;
  for (const RankId id : order) {
    const RankInfo& rank = trace.ranks()[id];
    LodRow row;
    row.is_state = true;
    for (const TrackKind kind : {TrackKind::device_stream, TrackKind::host_thread}) {
      for (TrackId t = rank.first_track; t < rank.first_track + rank.tracks; ++t) {
        const TrackInfo& track = trace.tracks()[t];
        if (track.kind != kind) continue;
        for (LaneId lane = track.first_lane; lane < track.first_lane + track.lanes; ++lane)
          row.lanes.push_back(lane);
      }
      if (!row.lanes.empty()) break;
    }
    // Pipeline messages anywhere in the first slices of its lanes make its gaps bubbles.
    constexpr SliceId kLook = 200;
    for (const LaneId lane : row.lanes) {
      const LaneInfo& l = trace.lanes()[lane];
      for (SliceId s = l.first; s < l.first + std::min(l.count, kLook) && !row.gaps_are_bubbles;
           ++s)
        row.gaps_are_bubbles = trace.category(s) == SliceCategory::exposed_pp;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::array<Nanoseconds, kSliceCategories> state_times(const TraceStore& trace,
                                                      const std::vector<SliceCategory>& state_of_op,
                                                      const LodRow& row, Nanoseconds begin,
                                                      Nanoseconds end) {
  std::array<Nanoseconds, kSliceCategories> times{};
  sweep_states(trace, state_of_op, row, begin, end,
               [&](Nanoseconds from, Nanoseconds to, SliceCategory category) {
                 times[static_cast<std::size_t>(category)] += to - from;
               });
  return times;
}

void draw_items(const TraceStore& trace, LaneId lane, Nanoseconds begin, Nanoseconds end,
                Nanoseconds least, std::vector<DrawItem>& into) {
  const LaneInfo& l = trace.lanes()[lane];
  const SliceId last = l.first + l.count;
  least = std::max<Nanoseconds>(least, 1);
  for (SliceId s = trace.first_ending_after(lane, begin); s < last && trace.start(s) < end;) {
    if (trace.duration(s) >= least) {
      into.push_back({trace.start(s), trace.end(s), s, 1, trace.category(s)});
      ++s;
      continue;
    }
    // A run: jump by `least` while what comes next is small and near.
    DrawItem run{trace.start(s), trace.end(s), s, 0, SliceCategory{}};
    SliceId next = s;
    for (;;) {
      next = std::max(next + 1, trace.first_ending_after(lane, run.end + least));
      // Behind a jump stands the first slice that ends beyond; all before it are small or touch the
      // run.
      while (next > s + 1 && next <= last && next - 1 > run.slice &&
             trace.duration(next - 1) >= least)
        --next;
      run.end = std::max(run.end, trace.end(next - 1));
      if (next >= last || trace.start(next) >= end || trace.start(next) - run.end >= least ||
          trace.duration(next) >= least)
        break;
    }
    run.count = next - s;
    constexpr SliceId kLook = 64;  // a run's colour from that many slices, evenly picked
    std::array<Nanoseconds, kSliceCategories> times{};
    const SliceId stride = std::max<SliceId>(1, run.count / kLook);
    for (SliceId at = s; at < next; at += stride)
      times[static_cast<std::size_t>(trace.category(at))] +=
          std::max<Nanoseconds>(1, trace.duration(at));
    run.category =
        static_cast<SliceCategory>(std::max_element(times.begin(), times.end()) - times.begin());
    into.push_back(run);
    s = next;
  }
}
}  // namespace stepcast::trace
