#pragma once
#include <string>
#include <vector>

#include "sim/timeline/read/open_trace.hpp"
#include "sim/timeline/store/store_builder.hpp"
#include "tests/support/temp_path.hpp"

namespace stepcast::test {
/// Opens events ("{...},{...}") as a Chrome trace.
trace::OpenResult opened(const std::string& events, const trace::OpenOptions& options = {});
std::string gzipped(const std::string& content);

/// Builds stores by hand: one rank a call, one stream a list of slices.
struct HandSlice {
  std::string name;
  Nanoseconds start = 0, end = 0;
  trace::SliceCategory category = trace::SliceCategory::compute;
};
class HandTrace {
 public:
  HandTrace();
  std::uint32_t stream(int rank, const std::string& label, const std::vector<HandSlice>& slices,
                       trace::TrackKind kind = trace::TrackKind::device_stream, int node = 0);
  trace::StoreBuilder builder;
  trace::TracePtr done() { return builder.build({.mark_overlapped = false}); }
};
/// The slice of a name that starts at a time, or kNoId.
trace::SliceId slice_named(const trace::TraceStore& trace, const std::string& name,
                           Nanoseconds start);
}  // namespace stepcast::test
