#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/timeline/store/huge_pages.hpp"
#include "sim/timeline/store/interner.hpp"
#include "sim/timeline/store/store_builder.hpp"

/// What StoreBuilder gathers and what build() works on. Only the builder's own files use it.
namespace stepcast::trace {

/// A slice as it arrives: 24 bytes. The op has 24 bits, the file offset 40 (1 TB).
struct RawSlice {
  Nanoseconds start = 0;
  std::uint32_t duration = 0;  // TraceStore::kLong: listed in State::long_durations
  std::uint32_t track = 0;
  std::uint32_t op_and_offset_high = 0;
  std::uint32_t offset_low = 0;
  OpId op() const { return op_and_offset_high & 0xFFFFFF; }
  std::uint64_t offset() const {
    return std::uint64_t{op_and_offset_high >> 24} << 32 | offset_low;
  }
};
inline constexpr std::size_t kMaxOps = std::size_t{1} << 24;
inline constexpr std::size_t kChunkSlices =
    std::size_t{1} << 18;  // 6 MB a chunk: freed one by one while the store is built

struct RawInstant {
  Nanoseconds time = 0;
  std::uint32_t track = 0;
  OpId op = 0;
  std::uint64_t offset = 0;
};
struct RawFlow {
  Nanoseconds from_time = 0, to_time = 0;
  std::uint32_t from = 0, to = 0;
  OpId op = 0;
  bool to_next = false;
};
struct RawCollective {
  std::size_t raw = 0;
  std::uint32_t kind = 0, group = 0, group_size = 0;
  std::int64_t bytes = 0;
};

struct RawStep {
  Nanoseconds begin = 0, end = 0;
};

struct StoreBuilder::State {
  Interner texts;
  std::vector<Op> ops;
  std::unordered_map<std::uint64_t, std::vector<OpId>>
      op_ids;  // by name and category; few display categories each
  std::vector<SourceFile> sources;
  std::vector<TrackSpec> tracks;
  std::vector<std::uint32_t> counts;           // slices by track
  std::vector<std::uint64_t> furthest_offset;  // by source
  std::vector<std::unique_ptr<HugeVector<RawSlice>>> chunks;
  std::size_t slices = 0;
  std::vector<std::pair<std::size_t, Nanoseconds>> long_durations;  // by raw index
  std::vector<RawInstant> instants;
  std::vector<RawFlow> flows;
  std::vector<CounterSeries> counters;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>
      counter_of;  // track, text -> index
  std::vector<RawCollective> collectives;
  std::vector<MetadataEntry> metadata;
  std::map<std::pair<std::uint32_t, std::int64_t>, RawStep> steps;  // by track and number
  std::string origin;
  Nanoseconds latest_end = 0;
  bool has_slice = false;

  RawSlice& raw(std::size_t i) { return (*chunks[i / kChunkSlices])[i % kChunkSlices]; }
  void push(const RawSlice& slice) {
    if (slices % kChunkSlices == 0) {
      chunks.push_back(std::make_unique<HugeVector<RawSlice>>());
      chunks.back()->reserve(kChunkSlices);
    }
    chunks.back()->push_back(slice);
    ++slices;
  }
};

/// Tracks in display order with their ranks and nodes; `place[builder track]` = TrackId, kNoId
/// where nothing lies on it.
struct TrackOrder {
  std::vector<TrackInfo> tracks;
  std::vector<RankInfo> ranks;
  std::vector<NodeInfo> nodes;
  std::vector<TrackId> place;
};
TrackOrder order_tracks(const std::vector<StoreBuilder::TrackSpec>& specs,
                        const std::vector<char>& is_used);
/// "stream 7" before "stream 10".
bool is_natural_less(const std::string& a, const std::string& b);

/// Slices of one track while lanes are given out.
struct TrackRow {
  Nanoseconds start = 0, duration = 0;
  OpId op = 0;
  std::uint32_t source = 0, from = 0;
};
/// Lane of each row (rows sorted by start, longer first): the first lane whose last slice has
/// ended. Returns the number of lanes.
std::uint32_t assign_lanes(const std::vector<TrackRow>& rows, std::vector<std::uint32_t>& lanes);

/// Slices that are communication and lie for at least half of their time under compute of their
/// rank: ids to be shown as overlapped.
std::vector<SliceId> overlapped_slices(const TraceStore::Parts& parts, const std::stop_token& stop);
}  // namespace stepcast::trace
