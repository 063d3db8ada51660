#pragma once
#include <string>

#include "sim/timeline/timeline.hpp"

namespace stepcast {
/// Chrome/Perfetto JSON of a timeline: node = process, rank and stream = thread, flows as arrows,
/// categories as "cat". Times in microseconds with nanosecond digits. Written streaming; .gz by
/// name. Throws EnvironmentError.
void write_chrome_trace(const Timeline& timeline, const std::string& path);
}  // namespace stepcast
