#pragma once
// Included by cell_sums.hpp only.
#include <algorithm>
#include <limits>

namespace stepcast::trace {
/// One cursor a lane; at every border the lane with the smallest priority owns the time up to the
/// next border. A slice that encloses another one of its track and computes is a range ("forward"):
/// what happens is what it encloses.
template <class Emit>
void sweep_states(const TraceStore& trace, const std::vector<SliceCategory>& state_of_op,
                  const LodRow& row, Nanoseconds begin, Nanoseconds end, Emit&& emit) {
  struct Cursor {
    SliceId at = 0, last = 0;
    Nanoseconds start = 0, end = 0;
    SliceCategory category{};
    int priority = 0;
    LaneId lane = 0;
    TrackId track = 0;
  };
  std::vector<Cursor> cursors;
  const auto load = [&](Cursor& cursor) {
    cursor.start = trace.start(cursor.at), cursor.end = trace.end(cursor.at);
    cursor.category = state_of_op[trace.op_id(cursor.at)];
    cursor.priority = state_priority(cursor.category);
  };
  Nanoseconds first_begin = std::numeric_limits<Nanoseconds>::max(),
              last_end = std::numeric_limits<Nanoseconds>::min();
  for (const LaneId lane : row.lanes) {
    const LaneInfo& l = trace.lanes()[lane];
    if (l.count == 0) continue;
    first_begin = std::min(first_begin, trace.start(l.first));
    last_end = std::max(last_end, trace.end(l.first + l.count - 1));
    Cursor cursor;
    cursor.lane = lane, cursor.track = l.track;
    cursor.at = trace.first_ending_after(lane, begin), cursor.last = l.first + l.count;
    if (cursor.at >= cursor.last) continue;
    load(cursor);
    if (cursor.start < end) cursors.push_back(cursor);
  }
  const auto fill_gap = [&](Nanoseconds from, Nanoseconds to) {
    if (!row.gaps_are_bubbles) return;
    from = std::max(from, first_begin), to = std::min(to, last_end);
    if (from < to) emit(from, to, SliceCategory::bubble);
  };
  const auto is_range = [&](const Cursor& outer, Nanoseconds now) {
    return std::any_of(cursors.begin(), cursors.end(), [&](const Cursor& inner) {
      return is_computing(outer.category) && inner.track == outer.track &&
             inner.lane > outer.lane && inner.start <= now && inner.end > now &&
             inner.start >= outer.start && inner.end <= outer.end;
    });
  };
  Nanoseconds now = begin;
  while (now < end && !cursors.empty()) {
    const Cursor* owner = nullptr;
    Nanoseconds next = end;
    for (const Cursor& cursor : cursors) {
      if (cursor.start > now) {
        next = std::min(next, cursor.start);
        continue;
      }
      next = std::min(next, cursor.end);
      if ((owner == nullptr || cursor.priority < owner->priority) && !is_range(cursor, now))
        owner = &cursor;
    }
    if (next > now) {
      if (owner != nullptr)
        emit(now, next, owner->category);
      else
        fill_gap(now, next);
      now = next;
    }
    for (std::size_t i = 0; i < cursors.size();) {
      Cursor& cursor = cursors[i];
      while (cursor.end <= now && cursor.at < cursor.last) {
        if (cursor.start == cursor.end && is_rare(cursor.category) && cursor.start >= begin)
          emit(cursor.start, cursor.end, cursor.category);
        if (++cursor.at < cursor.last) load(cursor);
      }
      if (cursor.at >= cursor.last || cursor.start >= end) {
        cursors[i] = cursors.back();
        cursors.pop_back();
      } else {
        ++i;
      }
    }
  }
  if (now < end) fill_gap(now, end);
}
}  // namespace stepcast::trace
