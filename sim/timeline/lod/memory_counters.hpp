#pragma once
#include <cstdint>
#include <vector>

#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::trace {
/// Whether its values are plain bytes: "memory bytes", "Total Bytes"; not "KBytes", not "Bytes/s".
bool counts_bytes(const CounterSeries& series);
/// For each rank the index into counters() of what tells its memory in use; kNoId where it has
/// none. Of several (devices, reserved beside allocated) the one that grows largest.
std::vector<std::uint32_t> memory_counters(const TraceStore& trace);
}  // namespace stepcast::trace
