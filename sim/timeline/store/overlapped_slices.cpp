#include <algorithm>

#include "sim/timeline/store/builder_state.hpp"

namespace stepcast::trace {
namespace {
struct Interval {
  Nanoseconds begin = 0, end = 0;
};

/// Unions in place; returns them by begin.
void unite(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (kept > 0 && next.begin <= intervals[kept - 1].end)
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, next.end);
    else
      intervals[kept++] = next;
  }
  intervals.resize(kept);
}
}  // namespace

std::vector<SliceId> overlapped_slices(const TraceStore::Parts& parts,
                                       const std::stop_token& stop) {
  std::vector<SliceId> found;
  std::vector<char> is_compute(parts.ops.size()), is_communication_op(parts.ops.size());
  for (std::size_t op = 0; op < parts.ops.size(); ++op)
    is_compute[op] = is_computing(parts.ops[op].shown),
    is_communication_op[op] = is_communication(parts.ops[op].shown);
  const auto op_of = [&](SliceId s) {
    return parts.op_low[s] | (parts.op_high.empty() ? 0U : OpId{parts.op_high[s]} << 16);
  };
  const auto end_of = [&](SliceId s) {
    if (parts.duration[s] != TraceStore::kLong) return parts.start[s] + parts.duration[s];
    const auto at = std::lower_bound(parts.long_durations.begin(), parts.long_durations.end(), s,
                                     [](const auto& e, SliceId id) { return e.first < id; });
    return parts.start[s] + at->second;
  };
  std::vector<Interval> compute;
  for (const RankInfo& rank : parts.ranks) {
    if (stop.stop_requested()) return found;
    compute.clear();
    std::vector<std::pair<SliceId, SliceId>>
        communication;  // stretches of slices of lanes that hold some
    for (TrackId track = rank.first_track; track < rank.first_track + rank.tracks; ++track) {
      const TrackInfo& info = parts.tracks[track];
      if (info.kind != TrackKind::device_stream) continue;
      // A pass that encloses communication of its own stream ("forward" around a tensor-parallel
      // all-gather) is a range, no compute that the communication hides behind: begins of
      // communication by lane tell them apart.
      std::vector<std::vector<Nanoseconds>> communication_begins(info.lanes);
      for (std::uint32_t depth = 0; depth < info.lanes; ++depth) {
        const LaneInfo& l = parts.lanes[info.first_lane + depth];
        for (SliceId s = l.first; s < l.first + l.count; ++s)
          if (is_communication_op[op_of(s)] != 0)
            communication_begins[depth].push_back(parts.start[s]);
      }
      const auto encloses_communication = [&](std::uint32_t depth, Nanoseconds begin,
                                              Nanoseconds end) {
        for (std::uint32_t inner = depth + 1; inner < info.lanes; ++inner) {
          const auto at = std::lower_bound(communication_begins[inner].begin(),
                                           communication_begins[inner].end(), begin);
          if (at != communication_begins[inner].end() && *at < end) return true;
        }
        return false;
      };
      for (LaneId lane = info.first_lane; lane < info.first_lane + info.lanes; ++lane) {
        const LaneInfo& l = parts.lanes[lane];
        bool has_communication = false;
        for (SliceId s = l.first; s < l.first + l.count; ++s) {
          const OpId op = op_of(s);
          has_communication |= is_communication_op[op] != 0;
          if (is_compute[op] == 0) continue;
          const Nanoseconds begin = parts.start[s], end = end_of(s);
          if (encloses_communication(lane - info.first_lane, begin, end)) continue;
          if (!compute.empty() && compute.back().end == begin)
            compute.back().end = end;  // back to back: one interval
          else
            compute.push_back({begin, end});
        }
        if (has_communication) communication.emplace_back(l.first, l.first + l.count);
      }
    }
    if (compute.empty() || communication.empty()) continue;
    unite(compute);
    for (const auto& [first, last] : communication) {
      auto next = compute.begin();
      for (SliceId s = first; s < last; ++s) {
        if (is_communication_op[op_of(s)] == 0) continue;
        const Nanoseconds begin = parts.start[s], end = end_of(s);
        while (next != compute.end() && next->end <= begin) ++next;
        Nanoseconds covered = 0;
        for (auto at = next; at != compute.end() && at->begin < end; ++at)
          covered += std::min(at->end, end) - std::max(at->begin, begin);
        if (covered * 2 >= end - begin && end > begin) found.push_back(s);
      }
    }
  }
  return found;
}
}  // namespace stepcast::trace
