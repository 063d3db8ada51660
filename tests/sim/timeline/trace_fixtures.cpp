#include "tests/sim/timeline/trace_fixtures.hpp"

#include <cstdio>

namespace stepcast::test {
trace::OpenResult opened(const std::string& events, const trace::OpenOptions& options) {
  const TempPath file("events.json", "{\"traceEvents\":[" + events + "]}");
  return trace::open_trace({file.path}, options);
}

std::string gzipped(const std::string& content) {
  const TempPath file("packed.gz", content);
  std::string bytes;
  if (std::FILE* in = std::fopen(file.path.c_str(), "rb")) {
    char block[4096];
    while (const std::size_t got = std::fread(block, 1, sizeof block, in)) bytes.append(block, got);
    std::fclose(in);
  }
  return bytes;
}

HandTrace::HandTrace() { builder.add_source({}); }
std::uint32_t HandTrace::stream(int rank, const std::string& label,
                                const std::vector<HandSlice>& slices, trace::TrackKind kind,
                                int node) {
  trace::StoreBuilder::TrackSpec spec;
  spec.node = "node " + std::to_string(node), spec.node_sort = node, spec.rank = rank,
  spec.label = label, spec.kind = kind;
  spec.sort = static_cast<std::int64_t>(builder.tracks());
  const std::uint32_t track = builder.add_track(std::move(spec));
  for (const HandSlice& s : slices)
    builder.add_slice(track, s.start, s.end - s.start, builder.op(s.name, "test", s.category));
  return track;
}
trace::SliceId slice_named(const trace::TraceStore& trace, const std::string& name,
                           Nanoseconds start) {
  for (trace::SliceId s = 0; s < trace.slices(); ++s)
    if (trace.start(s) == start && trace.name(s) == name) return s;
  return trace::kNoId;
}
}  // namespace stepcast::test
