#include "sim/timeline/stats/critical_path.hpp"

#include <algorithm>

#include "sim/timeline/lod/lod.hpp"

namespace stepcast::trace {
namespace {
class Walk {
 public:
  Walk(const TraceStore& trace, const std::vector<CollectiveRun>& runs, Nanoseconds begin)
      : trace_(trace),
        runs_(runs),
        begin_(begin),
        rows_(state_rows(trace)),
        run_of_(trace.slices(), kNoId) {
    for (std::uint32_t i = 0; i < runs.size(); ++i)
      for (const SliceId s : runs[i].members) run_of_[s] = i;
  }
  /// Slice of a rank with the latest end at or before `time`; waiting is no work. `near` wins where
  /// ends are equal.
  SliceId latest_before(RankId rank, Nanoseconds time, LaneId near) const {
    SliceId best = kNoId;
    for (const LaneId lane : rows_[rank].lanes) {
      const LaneInfo& l = trace_.lanes()[lane];
      SliceId at = trace_.first_starting_at(lane, time);
      while (at > l.first &&
             (trace_.end(at - 1) > time ||
              trace_.category(at - 1) == SliceCategory::straggler_wait ||
              trace_.category(at - 1) == SliceCategory::bubble || trace_.duration(at - 1) == 0))
        --at;
      if (at == l.first) continue;
      const SliceId s = at - 1;
      if (best == kNoId || trace_.end(s) > trace_.end(best) ||
          (trace_.end(s) == trace_.end(best) && lane == near))
        best = s;
    }
    return best;
  }
  SliceId last_of_all(Nanoseconds end) const {
    SliceId best = kNoId;
    for (RankId rank = 0; rank < rows_.size(); ++rank)
      if (const SliceId s = latest_before(rank, end, kNoId);
          s != kNoId && (best == kNoId || trace_.end(s) > trace_.end(best)))
        best = s;
    return best;
  }

  CriticalPath walk(Nanoseconds end, const std::stop_token& stop) {
    SliceId slice = last_of_all(end);
    if (slice == kNoId) return {};
    Nanoseconds now = trace_.end(slice);
    while (slice != kNoId && now > begin_) {
      if (stop.stop_requested()) {
        path_.is_complete = false;
        break;
      }
      const LaneId lane = trace_.lane_of(slice);
      const RankId rank = trace_.tracks()[trace_.lanes()[lane].track].rank;
      if (trace_.end(slice) < now)
        add(trace_.end(slice), now, rank, kNoId), now = trace_.end(slice);
      if (now <= begin_) break;
      RankId next_rank = rank;
      LaneId near = lane;
      Nanoseconds from = trace_.start(slice), continue_at = from;
      if (const std::uint32_t run = run_of_[slice]; run != kNoId && runs_[run].members.size() > 1) {
        // The transfer is on everybody's path; what came before is the last arrival's.
        from = std::clamp(runs_[run].last_arrival, trace_.start(slice), now);
        next_rank = runs_[run].last_rank, continue_at = std::min(from, runs_[run].last_arrival);
        if (next_rank != rank) near = kNoId;
      } else if (const SliceId sender = message_into(slice, rank); sender != kNoId) {
        // Sender and receiver are busy with the message at once: it is ready when the sender
        // begins.
        from = std::clamp(trace_.start(sender), begin_, trace_.start(slice));
        next_rank = trace_.rank_of(sender), near = trace_.lane_of(sender), continue_at = from;
      }
      add(from, now, rank, slice);
      if (next_rank != rank) ++path_.rank_changes;
      now = from;
      slice = latest_before(next_rank, continue_at, near);
      // What does not move back in time was overtaken by clock error; the rank's own past goes on.
      if (slice != kNoId && trace_.end(slice) >= now && trace_.start(slice) >= now) break;
    }
    if (now > begin_ && !path_.segments.empty() && path_.is_complete)
      add(begin_, now, path_.segments.back().rank, kNoId);
    std::reverse(path_.segments.begin(), path_.segments.end());
    return std::move(path_);
  }

 private:
  /// The slice of another rank an arrow comes from, the latest of several; kNoId without.
  SliceId message_into(SliceId slice, RankId rank) const {
    SliceId best = kNoId;
    for (const std::uint32_t flow : trace_.flows_into(slice)) {
      const SliceId from = trace_.flows()[flow].from;
      if (from == kNoId || trace_.rank_of(from) == rank || trace_.start(from) > trace_.end(slice))
        continue;
      if (best == kNoId || trace_.start(from) > trace_.start(best)) best = from;
    }
    return best;
  }
  void add(Nanoseconds from, Nanoseconds to, RankId rank, SliceId slice) {
    from = std::max(from, begin_);
    if (to <= from) return;
    CriticalSegment segment{from, to, rank, slice,
                            slice == kNoId ? SliceCategory::other : trace_.category(slice)};
    const double seconds = static_cast<double>(to - from) * 1e-9;
    path_.seconds_total += seconds;
    if (slice == kNoId)
      path_.gap_seconds += seconds;
    else
      path_.seconds[static_cast<std::size_t>(segment.category)] += seconds;
    path_.segments.push_back(segment);
  }
  const TraceStore& trace_;
  const std::vector<CollectiveRun>& runs_;
  Nanoseconds begin_;
  std::vector<LodRow> rows_;
  std::vector<std::uint32_t> run_of_;
  CriticalPath path_;
};
}  // namespace

CriticalPath critical_path(const TraceStore& trace, const std::vector<CollectiveRun>& runs,
                           Nanoseconds begin, Nanoseconds end, std::stop_token stop) {
  if (trace.slices() == 0 || end <= begin) return {};
  return Walk(trace, runs, std::max(begin, trace.begin())).walk(std::min(end, trace.end()), stop);
}
}  // namespace stepcast::trace
