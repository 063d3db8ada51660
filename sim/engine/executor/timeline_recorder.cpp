#include "sim/engine/executor/timeline_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/timeline/loader_op_names.hpp"
#include "sim/timeline/op_names.hpp"

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
                            double start, double end, std::int32_t payload) {
  if (ns(end) > ns(start))
    timeline_.spans.push_back(
        {track(worker, lane), op.name, category, ns(start), ns(end), op.micro_batch, payload});
}

std::int32_t TimelineRecorder::payload_of(std::uint32_t worker, const Transfer& transfer) {
  const std::int32_t group = job_.workers[worker].group[static_cast<std::size_t>(transfer.group)];
  const std::uint32_t first =
      group < 0 ? worker : job_.groups[static_cast<std::size_t>(group)].workers.front();
  return payload(transfer, transfer.collective, first, first);
}

std::int32_t TimelineRecorder::payload_of(const Channel& channel, const Transfer& transfer) {
  return payload(transfer, Collective::send_recv, channel.from, channel.to);
}

std::int32_t TimelineRecorder::payload(const Transfer& transfer, Collective collective,
                                       std::uint32_t from, std::uint32_t to) {
  if (transfer.ranks == 0) return -1;
  const auto bytes = static_cast<std::int64_t>(transfer.payload_bytes);
  const int ranks = to == from ? transfer.ranks : 2;
  const auto [at, is_new] =
      payloads_.try_emplace({collective, transfer.group, from, to, ranks, bytes},
                            static_cast<std::int32_t>(timeline_.payloads.size()));
  if (is_new) {
    std::string group =
        fmt::format("{}: rank {}", text_of(transfer.group), job_.workers[from].first_rank);
    if (to != from) group += fmt::format(" to {}", job_.workers[to].first_rank);
    timeline_.payloads.push_back(
        {std::string(text_of(collective)), std::move(group), ranks, bytes});
  }
  return at->second;
}

void TimelineRecorder::stall(std::uint32_t worker, double start, double end) {
  if (ns(end) <= ns(start)) return;
  const std::uint32_t on = track(worker, Lane::compute);
  const NameId name = timeline_.names.id_of(std::string(text_of(Category::data_stall)));
  // One stall is booked in pieces, whenever another lane of the worker changes.
  if (const auto known = last_stall_.find(worker);
      known != last_stall_.end() && timeline_.spans[known->second].end == ns(start)) {
    timeline_.spans[known->second].end = ns(end);
    return;
  }
  last_stall_[worker] = timeline_.spans.size();
  timeline_.spans.push_back({on, name, Category::data_stall, ns(start), ns(end), -1});
}

namespace {
std::string_view name_of(Station station) {
  switch (station) {
    case Station::storage:
      return op::data_read;
    case Station::cache:
      return op::data_cache_read;
    case Station::cores:
      return op::data_decode;
    case Station::nic:
      return op::data_send;
  }
  return op::data;
}
}  // namespace

void TimelineRecorder::loaders(const std::vector<std::uint32_t>& workers,
                               const std::vector<LoaderSpan>& spans, double step_start) {
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> tracks;  // consumer, process, worker
  for (const LoaderSpan& span : spans) {
    const double start = std::max(0.0, span.start - step_start), end = span.end - step_start;
    if (ns(end) <= ns(start)) continue;
    const std::array<std::uint32_t, 3> key{span.consumer, span.process,
                                           static_cast<std::uint32_t>(span.worker)};
    tracks.try_emplace(key, 0);
  }
  for (auto& [key, index] : tracks) {
    const Worker& worker = job_.workers[workers[key[0]]];
    index = static_cast<std::uint32_t>(timeline_.tracks.size());
    timeline_.tracks.push_back({worker.node, worker.first_rank,
                                "loader " + std::to_string(key[1]) + "." + std::to_string(key[2])});
  }
  for (const LoaderSpan& span : spans) {
    const double start = std::max(0.0, span.start - step_start), end = span.end - step_start;
    if (ns(end) <= ns(start)) continue;
    timeline_.spans.push_back(
        {tracks.at({span.consumer, span.process, static_cast<std::uint32_t>(span.worker)}),
         timeline_.names.id_of(std::string(name_of(span.station))), Category::data_stall, ns(start),
         ns(end), -1});
  }
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
    const std::int32_t payload =
        piece.transfer < 0
            ? -1
            : payload_of(worker, job_.programs[job_.workers[worker].program]
                                     .transfers[static_cast<std::size_t>(piece.transfer)]);
    if (ns(gpu) > ns(start))
      timeline_.spans.push_back({track(worker, Lane::compute), piece.name, piece.category,
                                 ns(start), ns(gpu), op.micro_batch, payload});
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
