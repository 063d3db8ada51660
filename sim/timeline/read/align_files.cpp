#include "sim/timeline/read/align_files.hpp"

#include <algorithm>

#include "sim/import/common/collective_match.hpp"

namespace stepcast::trace {
namespace {
/// The file's collectives as the importers' own type, so that both align alike.
RankTrace rank_trace_of(const FileClock& file) {
  RankTrace trace;
  trace.file = file.path, trace.rank = file.rank;
  trace.tracks.push_back({true, 0, 0, "collectives"});
  std::vector<CollectiveMark> marks = file.marks;
  std::sort(marks.begin(), marks.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  for (const CollectiveMark& mark : marks) {
    TraceEvent event;
    event.start = mark.start, event.duration = mark.end - mark.start,
    event.kind = EventKind::collective;
    event.collective = static_cast<std::uint32_t>(trace.collectives.size());
    CollectiveCall call;
    // The key takes the place of the group: one list per kind and group, matched by order.
    call.group = file.keys[mark.key];
    trace.collectives.push_back(std::move(call));
    trace.events.push_back(event);
  }
  for (const StepMarkSeen& step : file.steps)
    trace.steps.push_back({step.number, step.start, step.end});
  std::sort(trace.steps.begin(), trace.steps.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  if (trace.steps.empty() && !marks.empty()) {
    Nanoseconds end = marks.front().end;
    for (const CollectiveMark& mark : marks) end = std::max(end, mark.end);
    trace.steps.push_back({0, marks.front().start, end + 1});
  }
  return trace;
}
}  // namespace

void align_files(const std::vector<FileClock>& files, StoreBuilder& builder, Anomalies& anomalies) {
  if (files.size() < 2) return;
  std::vector<RankTrace> traces;
  for (const FileClock& file : files) traces.push_back(rank_trace_of(file));
  const std::vector<ClockOffset> offsets = align_clocks(traces, anomalies);
  std::vector<Nanoseconds> by_source;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::uint32_t source = files[i].first_source;
         source < files[i].first_source + files[i].sources; ++source) {
      by_source.resize(std::max<std::size_t>(by_source.size(), source + 1), 0);
      const Nanoseconds shift = offsets[i].is_applied ? -offsets[i].offset : 0;
      by_source[source] = shift;
      SourceFile& file = builder.source(source);
      file.clock_offset = shift, file.clock_residual = offsets[i].residual,
      file.clock_matches = offsets[i].matches;
    }
  builder.shift_sources(by_source);
}
}  // namespace stepcast::trace
