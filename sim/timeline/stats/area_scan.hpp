#pragma once
#include <algorithm>
#include <numeric>

#include "sim/timeline/stats/op_statistics.hpp"

namespace stepcast::trace {
/// Lanes of an area that the filter does not exclude; false when stopped. lane(lane, first, last):
/// its slices that touch the window.
template <class TakeLane>
bool scan_lanes(const TraceStore& trace, const Area& area, const BoundFilter* filter,
                const std::stop_token& stop, TakeLane&& take) {
  const std::size_t count = area.lanes.empty() ? trace.lanes().size() : area.lanes.size();
  std::size_t looked = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const LaneId lane = area.lanes.empty() ? static_cast<LaneId>(i) : area.lanes[i];
    if (filter != nullptr && filter->excludes_lane(lane)) continue;
    const SliceId first = trace.first_ending_after(lane, area.begin);
    const SliceId last = std::max(first, trace.first_starting_at(lane, area.end));
    if ((looked += last - first + 1) >
        65536) {  // a look at the stop token every tenth of a millisecond
      looked = 0;
      if (stop.stop_requested()) return false;
    }
    take(lane, first, last);
  }
  return true;
}
}  // namespace stepcast::trace
