#include "sim/engine/executor/timeline_recorder.hpp"

#include <algorithm>

namespace stepcast {
namespace {
Nanoseconds ns(double seconds) { return ns_from_seconds(Seconds(seconds)); }
}  // namespace

// Lanes that a worker's program uses become tracks, the lanes of a worker side by side.
TimelineRecorder::TimelineRecorder(const Job& job, int detail_workers)
    : job_(job), detail_workers_(static_cast<std::uint32_t>(std::max(0, detail_workers))) {
  timeline_.names = job.names;
  timeline_.origin = "simulated";
  for (const Worker& worker : job.workers) {
    auto& tracks = tracks_.emplace_back();
    tracks.fill(-1);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (job.programs[worker.program].lanes[lane].empty()) continue;
      tracks[lane] = static_cast<std::int32_t>(timeline_.tracks.size());
      timeline_.tracks.push_back(
          {worker.node, worker.first_rank, std::string(text_of(static_cast<Lane>(lane)))});
    }
  }
}

std::uint32_t TimelineRecorder::track(std::uint32_t worker, Lane lane) {
  return static_cast<std::uint32_t>(tracks_[worker][static_cast<std::size_t>(lane)]);
}

void TimelineRecorder::span(std::uint32_t worker, Lane lane, const ProgramOp& op, Category category,
                            double start, double end) {
  if (ns(end) > ns(start))
    timeline_.spans.push_back(
        {track(worker, lane), op.name, category, ns(start), ns(end), op.micro_batch});
}

void TimelineRecorder::segment(std::uint32_t worker, const ProgramOp& op, const SegmentClock& clock,
                               double end, double launch_gap) {
  span(worker, Lane::compute, op, op.category, clock.start_date(), end);
  if (worker >= detail_workers_) return;
  // Replay the launches at the mean stretch: the chain of the pieces is the one that the segment's
  // bounds sum up.
  const Segment& segment = clock.segment();
  const double busy = end - clock.start_date() - launch_gap;
  const double stretch =
      segment.scaled > 0 ? std::max(0.0, busy - segment.fixed) / segment.scaled : 1;
  double gpu = clock.start_date(), host = clock.host_start();
  for (const Piece& piece : segment.pieces) {
    host += static_cast<double>(piece.host_seconds);
    const double start = std::min(end, std::max(gpu, host));
    gpu = std::min(end, start + static_cast<double>(piece.seconds) * (piece.scales ? stretch : 1));
    if (ns(gpu) > ns(start))
      timeline_.spans.push_back({track(worker, Lane::compute), piece.name, piece.category,
                                 ns(start), ns(gpu), op.micro_batch});
  }
}

void TimelineRecorder::arrow(std::uint32_t from_worker, Lane from_lane, std::uint32_t to_worker,
                             Lane to_lane, NameId name, double from, double to) {
  timeline_.flows.push_back(
      {track(from_worker, from_lane), track(to_worker, to_lane), ns(from), ns(to), name});
}

Timeline TimelineRecorder::take() {
  std::stable_sort(
      timeline_.spans.begin(), timeline_.spans.end(), [](const Span& a, const Span& b) {
        if (a.track != b.track) return a.track < b.track;
        return a.start != b.start ? a.start < b.start : a.end > b.end;  // the enclosing span first
      });
  return std::move(timeline_);
}
}  // namespace stepcast
