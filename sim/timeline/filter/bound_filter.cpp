#include <algorithm>

#include "sim/timeline/filter/bound_tree.hpp"

namespace stepcast::trace {
BoundFilter::BoundFilter(const Filter& filter, TracePtr trace, const Steps* steps)
    : bound_(std::make_unique<Bound>()) {
  bound_->filter = filter, bound_->trace = std::move(trace), bound_->steps = steps;
  bound_->bind_all();
}
BoundFilter::~BoundFilter() = default;
BoundFilter::BoundFilter(BoundFilter&&) noexcept = default;
BoundFilter& BoundFilter::operator=(BoundFilter&&) noexcept = default;

bool BoundFilter::matches(SliceId slice) const {
  return matches(slice, bound_->trace->lane_of(slice));
}
bool BoundFilter::matches(SliceId slice, LaneId lane) const {
  return bound_->lane_passes(lane) && bound_->slice_passes(slice, lane);
}
bool BoundFilter::matches_on_passing_lane(SliceId slice, LaneId lane) const {
  return bound_->slice_passes(slice, lane);
}
bool BoundFilter::excludes_lane(LaneId lane) const { return !bound_->lane_passes(lane); }

SliceId BoundFilter::next_after(Nanoseconds time, SliceId current) const {
  // Order: start, then id, so that hits which start together are all visited.
  const TraceStore& trace = *bound_->trace;
  SliceId best = kNoId;
  for (LaneId lane = 0; lane < trace.lanes().size(); ++lane) {
    if (!bound_->lane_passes(lane)) continue;
    const LaneInfo& l = trace.lanes()[lane];
    for (SliceId s = trace.first_starting_at(lane, time); s < l.first + l.count; ++s) {
      if (best != kNoId && trace.start(s) >= trace.start(best)) break;
      if (trace.start(s) == time && (current == kNoId ? true : s <= current)) continue;
      if (!bound_->slice_passes(s, lane)) continue;
      best = s;
      break;
    }
  }
  return best;
}

SliceId BoundFilter::previous_before(Nanoseconds time, SliceId current) const {
  const TraceStore& trace = *bound_->trace;
  SliceId best = kNoId;
  for (LaneId lane = 0; lane < trace.lanes().size(); ++lane) {
    if (!bound_->lane_passes(lane)) continue;
    const LaneInfo& l = trace.lanes()[lane];
    for (SliceId s = trace.first_starting_at(lane, time + 1); s-- > l.first;) {
      if (best != kNoId && trace.start(s) < trace.start(best)) break;
      if (trace.start(s) == time && (current == kNoId ? true : s >= current)) continue;
      if (!bound_->slice_passes(s, lane)) continue;
      best = s;  // of hits that start together the last id is the nearest
      break;
    }
  }
  return best;
}

std::vector<std::uint8_t> hit_ticks(const TraceStore& trace, std::span<const SliceId> hits,
                                    Nanoseconds begin, Nanoseconds end, int width) {
  std::vector<std::uint8_t> ticks(static_cast<std::size_t>(std::max(0, width)), 0);
  if (end <= begin || width <= 0) return ticks;
  const double scale = width / static_cast<double>(end - begin);
  for (const SliceId s : hits) {
    if (trace.start(s) >= end || trace.end(s) < begin) continue;
    const auto x = static_cast<std::size_t>(std::clamp(
        static_cast<double>(trace.start(s) - begin) * scale, 0.0, static_cast<double>(width - 1)));
    if (ticks[x] < 255) ++ticks[x];
  }
  return ticks;
}
}  // namespace stepcast::trace
