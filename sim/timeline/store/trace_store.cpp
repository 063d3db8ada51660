#include "sim/timeline/store/trace_store.hpp"

#include <algorithm>

#include "sim/core/assert.hpp"

namespace stepcast::trace {

TraceStore::TraceStore(Parts parts) : parts_(std::move(parts)) {
  STEPCAST_ASSERT(parts_.duration.size() == slices() && parts_.op_low.size() == slices(),
                  "columns have one entry a slice");
  STEPCAST_ASSERT(parts_.source.empty() || parts_.source.size() == slices(),
                  "columns have one entry a slice");
}

Nanoseconds TraceStore::long_duration(SliceId s) const {
  const auto& list = parts_.long_durations;
  const auto at = std::lower_bound(list.begin(), list.end(), s,
                                   [](const auto& entry, SliceId id) { return entry.first < id; });
  STEPCAST_ASSERT(at != list.end() && at->first == s, "a long slice has its duration listed");
  return at->second;
}

LaneId TraceStore::lane_of(SliceId s) const {
  // Lanes hold at least one slice each, in order of their first.
  const auto at =
      std::upper_bound(parts_.lanes.begin(), parts_.lanes.end(), s,
                       [](SliceId id, const LaneInfo& lane) { return id < lane.first; });
  return static_cast<LaneId>(at - parts_.lanes.begin() - 1);
}

std::uint64_t TraceStore::source_offset(SliceId s) const {
  if (parts_.source.empty()) return 0;
  const TrackInfo& track = parts_.tracks[track_of(s)];
  return std::uint64_t{parts_.source[s]} << parts_.sources[track.source].offset_shift;
}

SliceId TraceStore::first_starting_at(LaneId lane, Nanoseconds time) const {
  const LaneInfo& l = parts_.lanes[lane];
  const Nanoseconds* first = parts_.start.data() + l.first;
  return static_cast<SliceId>(std::lower_bound(first, first + l.count, time) - parts_.start.data());
}

SliceId TraceStore::first_ending_after(LaneId lane, Nanoseconds time) const {
  // Slices of a lane do not overlap: only the one before the first start can reach over the moment.
  const SliceId at = first_starting_at(lane, time);
  return at > parts_.lanes[lane].first && end(at - 1) > time ? at - 1 : at;
}

SliceId TraceStore::slice_at(LaneId lane, Nanoseconds time) const {
  const LaneInfo& l = parts_.lanes[lane];
  const Nanoseconds* first = parts_.start.data() + l.first;
  const auto at =
      static_cast<SliceId>(std::upper_bound(first, first + l.count, time) - parts_.start.data());
  return at > l.first && (end(at - 1) > time || start(at - 1) == time) ? at - 1 : kNoId;
}

SliceId TraceStore::slice_on_track_at(TrackId track, Nanoseconds time) const {
  const TrackInfo& t = parts_.tracks[track];
  for (LaneId lane = t.first_lane + t.lanes; lane-- > t.first_lane;)
    if (const SliceId s = slice_at(lane, time); s != kNoId) return s;
  return kNoId;
}

std::vector<std::uint32_t> TraceStore::flows_from(SliceId s) const {
  std::vector<std::uint32_t> found;
  const auto& flows = parts_.flows;
  auto at = std::lower_bound(flows.begin(), flows.end(), s,
                             [](const FlowArrow& flow, SliceId id) { return flow.from < id; });
  for (; at != flows.end() && at->from == s; ++at)
    found.push_back(static_cast<std::uint32_t>(at - flows.begin()));
  return found;
}

std::vector<std::uint32_t> TraceStore::flows_into(SliceId s) const {
  std::vector<std::uint32_t> found;
  const auto& order = parts_.flows_by_target;
  auto at = std::lower_bound(order.begin(), order.end(), s, [&](std::uint32_t flow, SliceId id) {
    return parts_.flows[flow].to < id;
  });
  for (; at != order.end() && parts_.flows[*at].to == s; ++at) found.push_back(*at);
  return found;
}

std::size_t TraceStore::memory() const {
  std::size_t bytes =
      slices() * (sizeof(Nanoseconds) + sizeof(std::uint32_t) + sizeof(std::uint16_t));
  bytes += parts_.op_high.size() + parts_.source.size() * sizeof(std::uint32_t);
  bytes += parts_.long_durations.size() * sizeof(parts_.long_durations[0]) +
           parts_.lanes.size() * sizeof(LaneInfo);
  bytes += parts_.tracks.size() * sizeof(TrackInfo) + parts_.ranks.size() * sizeof(RankInfo) +
           parts_.ops.size() * sizeof(Op);
  for (const std::string& text : parts_.texts) bytes += sizeof(std::string) + text.capacity();
  bytes += parts_.instants.size() * sizeof(Instant) +
           parts_.flows.size() * (sizeof(FlowArrow) + sizeof(std::uint32_t));
  for (const CounterSeries& series : parts_.counters)
    bytes += sizeof(CounterSeries) + series.times.size() * 16;
  return bytes + parts_.collectives.size() * sizeof(CollectiveSlice);
}
}  // namespace stepcast::trace
