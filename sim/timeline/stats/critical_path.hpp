#pragma once
#include <array>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "sim/timeline/stats/collectives.hpp"
#include "sim/timeline/steps/steps.hpp"

namespace stepcast::trace {
/// One stretch of the critical path: nothing on it could have been later without moving the end.
struct CriticalSegment {
  Nanoseconds begin = 0, end = 0;
  RankId rank = 0;
  SliceId slice = kNoId;  // kNoId: a gap in which the rank ran nothing (launch, host, unknown)
  SliceCategory category{};
};
struct CriticalPath {
  std::vector<CriticalSegment> segments;  // by time, without gaps between them
  std::array<double, kSliceCategories> seconds{};
  double gap_seconds = 0, seconds_total = 0;
  int rank_changes = 0;
  bool is_complete = true;  // false: stopped
};
/// Walks back from the last end in [begin, end): within a rank to the slice that ended last before;
/// through a collective to the rank that arrived last; through a message arrow to its sender.
/// Crosses ranks only where clocks are known.
CriticalPath critical_path(const TraceStore& trace, const std::vector<CollectiveRun>& runs,
                           Nanoseconds begin, Nanoseconds end, std::stop_token stop = {});
}  // namespace stepcast::trace
