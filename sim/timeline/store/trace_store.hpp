#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/timeline/store/column.hpp"
#include "sim/timeline/store/slice_category.hpp"

/// One opened trace: immutable, shared between threads, compact (17 to 20 bytes a slice).
///   node > rank > track (a stream, a host thread, an async or counter row) > lane > slice
/// Lanes of a track never overlap themselves: a slice that starts before another ends gets the next
/// free lane, so nested calls stack by depth and overlapping kernels stand below each other. Slices
/// of a lane are neighbours in the columns, sorted by start. Times are the file's own nanoseconds
/// (plus the clock offset of its source); begin() is the earliest.
namespace stepcast::trace {
using SliceId = std::uint32_t;  // index into the columns; dense, grouped by lane
using LaneId = std::uint32_t;
using TrackId = std::uint32_t;
using RankId = std::uint32_t;  // index into ranks(), which is not the rank's number
using OpId = std::uint32_t;    // index into ops()
inline constexpr std::uint32_t kNoId = std::numeric_limits<std::uint32_t>::max();

/// What a slice is called: interned (name, source category, display category).
struct Op {
  std::uint32_t name = 0;      // text id
  std::uint32_t category = 0;  // text id of the file's own "cat"
  SliceCategory shown = SliceCategory::other;
};
enum class TrackKind : std::uint8_t { device_stream, host_thread, async, counter };

struct SourceFile {
  std::string path;
  Nanoseconds time_base = 0;       // baseTimeNanoseconds of the file: was added to its times
  Nanoseconds clock_offset = 0;    // was added too, so that matched collectives end together
  Nanoseconds clock_residual = 0;  // how far matched collectives still disagree; 0 with no matches
  int clock_matches = 0;  // collectives the offset rests on; 0 = the clock is the file's own
  std::uint8_t offset_shift =
      0;  // Parts::source << offset_shift = byte offset in the inflated file
};
struct NodeInfo {
  std::string label;
  std::uint32_t first_rank = 0, ranks = 0;
};
/// A rank, or a process where the trace knows no ranks (rank = -1).
struct RankInfo {
  std::int32_t rank = -1;
  std::uint32_t node = 0, first_track = 0, tracks = 0;
  std::string label;
};
struct TrackInfo {
  std::uint32_t rank = 0, first_lane = 0,
                lanes = 0;  // lanes = 0: nothing but counters, instants or flow ends
  std::uint32_t source = 0;
  TrackKind kind = TrackKind::host_thread;
  std::string pid, tid, label;
};
struct LaneInfo {
  SliceId first = 0;
  std::uint32_t count = 0;
  TrackId track = 0;
};
/// An event without duration.
struct Instant {
  Nanoseconds time = 0;
  TrackId track = 0;
  OpId op = 0;
  std::uint32_t source = 0;
};
/// An arrow; kNoId where no slice encloses that end.
struct FlowArrow {
  Nanoseconds from_time = 0, to_time = 0;
  TrackId from_track = 0, to_track = 0;
  SliceId from = kNoId, to = kNoId;
  OpId op = 0;
};
/// One series of a counter: values hold until the next time.
struct CounterSeries {
  TrackId track = 0;
  std::string name;  // "bytes", "GPU 0 Utilization/value"
  std::vector<Nanoseconds> times;
  std::vector<double> values;
  double least = 0, most = 0;
};
/// A collective or message as one rank saw it, where the trace states its identity.
struct CollectiveSlice {
  SliceId slice = 0;
  std::uint32_t kind = 0,
                group = 0;       // text ids: "all_reduce"; members or group name, "" = the world
  std::uint32_t group_size = 0;  // 0 = not stated
  std::int64_t bytes = 0;        // S as nccl-tests counts it; 0 = not stated
};
/// A step as the file's own events state it (args.step), per rank.
struct StatedStep {
  RankId rank = 0;
  std::int64_t number = 0;
  Nanoseconds begin = 0, end = 0;
};
struct MetadataEntry {
  std::uint32_t source = 0;
  std::string key, value;
};

class TraceStore {
 public:
  std::size_t slices() const { return parts_.start.size(); }
  Nanoseconds start(SliceId s) const { return parts_.start[s]; }
  Nanoseconds duration(SliceId s) const {
    const std::uint32_t d = parts_.duration[s];
    return d == kLong ? long_duration(s) : Nanoseconds{d};
  }
  Nanoseconds end(SliceId s) const { return start(s) + duration(s); }
  OpId op_id(SliceId s) const {
    return parts_.op_low[s] | (parts_.op_high.empty() ? 0U : OpId{parts_.op_high[s]} << 16);
  }
  const Op& op(SliceId s) const { return parts_.ops[op_id(s)]; }
  SliceCategory category(SliceId s) const { return op(s).shown; }
  std::string_view name(SliceId s) const { return text(op(s).name); }
  LaneId lane_of(SliceId s) const;  // log(lanes)
  TrackId track_of(SliceId s) const { return parts_.lanes[lane_of(s)].track; }
  RankId rank_of(SliceId s) const { return parts_.tracks[track_of(s)].rank; }
  int depth_of(SliceId s) const {
    const LaneId l = lane_of(s);
    return static_cast<int>(l - parts_.tracks[parts_.lanes[l].track].first_lane);
  }
  /// Byte offset of the event in its inflated file, exact to 1 << offset_shift; see
  /// read/slice_args.hpp.
  std::uint64_t source_offset(SliceId s) const;

  /// First slice of the lane that ends after `time` (lane.first + lane.count when none): where
  /// drawing a window begins.
  SliceId first_ending_after(LaneId lane, Nanoseconds time) const;
  /// First slice of the lane that starts at or after `time`.
  SliceId first_starting_at(LaneId lane, Nanoseconds time) const;
  /// The slice of the lane that holds the moment, or kNoId.
  SliceId slice_at(LaneId lane, Nanoseconds time) const;
  /// The deepest slice of a track that holds the moment, or kNoId.
  SliceId slice_on_track_at(TrackId track, Nanoseconds time) const;

  Nanoseconds begin() const { return parts_.begin; }
  Nanoseconds end() const { return parts_.end; }
  std::string_view text(std::uint32_t id) const { return parts_.texts[id]; }
  std::size_t texts() const { return parts_.texts.size(); }

  const std::vector<Op>& ops() const { return parts_.ops; }
  const std::vector<NodeInfo>& nodes() const { return parts_.nodes; }
  const std::vector<RankInfo>& ranks() const { return parts_.ranks; }
  const std::vector<TrackInfo>& tracks() const { return parts_.tracks; }
  const std::vector<LaneInfo>& lanes() const { return parts_.lanes; }
  const std::vector<SourceFile>& sources() const { return parts_.sources; }
  const Column<Instant>& instants() const { return parts_.instants; }  // by track, then time
  const Column<FlowArrow>& flows() const { return parts_.flows; }      // by from
  const std::vector<CounterSeries>& counters() const { return parts_.counters; }
  const Column<CollectiveSlice>& collectives() const { return parts_.collectives; }  // by slice
  const std::vector<MetadataEntry>& metadata() const { return parts_.metadata; }
  const std::vector<StatedStep>& stated_steps() const {
    return parts_.stated_steps;
  }  // by number, then rank
  /// Flow ids that leave or reach a slice.
  std::vector<std::uint32_t> flows_from(SliceId s) const;
  std::vector<std::uint32_t> flows_into(SliceId s) const;
  const std::string& origin() const { return parts_.origin; }  // "simulated", "measured" or ""

  /// Raw columns, for scans over millions of slices.
  const Column<Nanoseconds>& starts() const { return parts_.start; }
  const Column<std::uint32_t>& durations() const {
    return parts_.duration;
  }  // kLong: see duration()
  const Column<std::uint16_t>& op_low() const { return parts_.op_low; }
  const Column<std::uint8_t>& op_high() const { return parts_.op_high; }  // empty below 65536 ops
  static constexpr std::uint32_t kLong = std::numeric_limits<std::uint32_t>::max();

  /// Memory of everything the store holds, in bytes.
  std::size_t memory() const;

  /// What a store is made of; store_builder and cache fill it.
  struct Parts {
    Column<Nanoseconds> start;
    Column<std::uint32_t> duration;  // nanoseconds; kLong = in long_durations
    Column<std::uint16_t> op_low;
    Column<std::uint8_t> op_high;
    Column<std::uint32_t>
        source;  // event offset >> offset_shift of the track's source; empty: no file behind
    std::vector<std::pair<SliceId, Nanoseconds>> long_durations;  // by slice; above 4.29 s
    std::vector<LaneInfo> lanes;
    std::vector<TrackInfo> tracks;
    std::vector<RankInfo> ranks;
    std::vector<NodeInfo> nodes;
    std::vector<Op> ops;
    std::vector<std::string> texts;
    std::vector<SourceFile> sources;
    Column<Instant> instants;
    Column<FlowArrow> flows;
    Column<std::uint32_t> flows_by_target;  // flow ids sorted by `to`
    std::vector<CounterSeries> counters;
    Column<CollectiveSlice> collectives;
    std::vector<MetadataEntry> metadata;
    std::vector<StatedStep> stated_steps;
    std::string origin;
    Nanoseconds begin = 0, end = 0;
  };
  explicit TraceStore(Parts parts);
  const Parts& parts() const { return parts_; }

 private:
  Nanoseconds long_duration(SliceId s) const;
  Parts parts_;
};
using TracePtr = std::shared_ptr<const TraceStore>;
}  // namespace stepcast::trace
