#pragma once
#include <string>

#include "sim/timeline/timeline.hpp"

namespace stepcast {
/// Arguments of a slice that moves data, each with a comma in front:
/// ,"collective":"all_reduce","group":"dp: rank 0","group_size":64,"bytes":1048576
std::string payload_args(const Payload& payload);
/// Chrome/Perfetto JSON of a timeline: node = process, rank and stream = thread, flows as arrows,
/// memory as counters "rank 12 memory", categories as "cat". Times in microseconds with nanosecond
/// digits. Written streaming; .gz by name. Throws EnvironmentError.
void write_chrome_trace(const Timeline& timeline, const std::string& path);
}  // namespace stepcast
