#pragma once
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "sim/data/supply.hpp"
#include "sim/engine/executor/segment_clock.hpp"
#include "sim/engine/step_executor.hpp"

namespace stepcast {
/// Writes spans and arrows while a step runs: ops of all lanes of all workers, and the pieces
/// inside the segments of the first few workers.
class TimelineRecorder {
 public:
  TimelineRecorder(const Job& job, int detail_workers);
  /// Skips what is empty. `payload`: see payload_of.
  void span(std::uint32_t worker, Lane lane, const ProgramOp& op, Category category, double start,
            double end, std::int32_t payload = -1);
  /// Payload of a collective's slices: an index into Timeline::payloads, -1 where none is stated.
  /// Its group is the worker's, or the worker itself where all members are inside of it.
  std::int32_t payload_of(std::uint32_t worker, const Transfer& transfer);
  /// Payload of a message from one rank to another.
  std::int32_t payload_of(const Channel& channel, const Transfer& transfer);
  /// `busy` of [start, end] is GPU time; the rest waits for the host.
  void segment(std::uint32_t worker, const ProgramOp& op, const SegmentClock& clock, double end,
               double launch_gap);
  void arrow(std::uint32_t from_worker, Lane from_lane, std::uint32_t to_worker, Lane to_lane,
             NameId name, double from, double to);
  /// The compute lane stood still for a batch.
  void stall(std::uint32_t worker, double start, double end);
  /// A track for every loader worker in `spans`, behind the tracks of its rank. Consumers are
  /// numbers into `workers`; times are seconds of a run in which the step began at `step_start`.
  void loaders(const std::vector<std::uint32_t>& workers, const std::vector<LoaderSpan>& spans,
               double step_start);
  Timeline take();

 private:
  std::uint32_t track(std::uint32_t worker, Lane lane);
  std::int32_t payload(const Transfer& transfer, Collective collective, std::uint32_t from,
                       std::uint32_t to);
  const Job& job_;
  std::uint32_t detail_workers_;
  Timeline timeline_;
  std::vector<std::array<std::int32_t, kLanes>> tracks_;
  std::map<std::uint32_t, std::size_t> last_stall_;  // by worker: its span
  /// By collective, group kind, first worker, other worker (or the first again), ranks and bytes.
  std::map<std::tuple<Collective, GroupKind, std::uint32_t, std::uint32_t, int, std::int64_t>,
           std::int32_t>
      payloads_;
};
}  // namespace stepcast
