#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/import/common/rank_trace.hpp"

/// A file's events before anyone knows what they mean. Only this folder uses it.
namespace stepcast::chrome_timeline {
using LineKey = std::pair<std::string, std::string>;  // process, thread
struct RawSpan {
  Nanoseconds start = 0;
  std::int64_t duration = 0;
  std::uint32_t name = 0;
};
struct RawLine {
  std::string process_name, thread_name;
  std::vector<RawSpan> spans;
};
struct RawTimeline {
  TextTable names;
  std::map<LineKey, RawLine>
      lines;  // process_name and thread_name filled when all metadata was seen
};
/// What one tool's lines become.
void take_horovod(RawTimeline& raw, RankTrace& trace);
void take_tensorflow(RawTimeline& raw, RankTrace& trace);

/// Appends a track and its events of one kind.
std::uint32_t add_track(RankTrace& trace, bool is_device, const std::string& label);
void add_event(RankTrace& trace, const RawTimeline& raw, std::uint32_t track, const RawSpan& span,
               EventKind kind);
}  // namespace stepcast::chrome_timeline
