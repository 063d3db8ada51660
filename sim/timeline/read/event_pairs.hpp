#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/timeline/read/import_report.hpp"
#include "sim/timeline/store/store_builder.hpp"

/// Events that mean something in pairs only. They are kept until the file ends, because writers do
/// not sort them.
namespace stepcast::trace {

/// B and E of threads, b and e of async tracks.
struct PairEvent {
  std::uint64_t key = 0;  // track, or track and id of an async operation
  Nanoseconds time = 0;
  std::uint32_t track = 0;
  OpId op = 0;
  std::uint64_t offset = 0;
  bool is_begin = false;
};
struct PairLosses {
  std::int64_t begin_without_end = 0, end_without_begin = 0;
  std::vector<std::uint64_t> places;
};
/// Slices for pairs; a begin without end lasts to `last`, an end without begin becomes an instant.
/// Sorts `events`.
PairLosses add_pairs(std::vector<PairEvent>& events, Nanoseconds last, StoreBuilder& builder);

/// One end of an arrow.
struct FlowEvent {
  std::uint64_t key = 0;  // hash of document, category and id
  Nanoseconds time = 0;
  std::uint32_t track = 0;
  OpId op = 0;
  std::uint64_t offset = 0;
  std::uint8_t order = 0;  // 0 start, 1 step, 2 finish
  bool binds_next = false;
};
struct FlowLosses {
  std::int64_t without_start = 0, without_finish = 0;
  std::int64_t arrows = 0;
  std::vector<std::uint64_t> places;
};
/// Arrows between successive ends of one key. Sorts `events`.
FlowLosses add_flows(std::vector<FlowEvent>& events, StoreBuilder& builder);
}  // namespace stepcast::trace
