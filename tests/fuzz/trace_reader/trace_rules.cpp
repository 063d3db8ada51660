#include "tests/fuzz/trace_reader/trace_rules.hpp"

#include "sim/timeline/read/slice_args.hpp"

namespace stepcast::fuzz {
std::string broken_rule(const trace::OpenResult& opened) {
  const trace::TraceStore& t = *opened.trace;
  const trace::ImportReport& r = opened.report;
  std::int64_t by_phase = 0;
  for (const auto count : r.events_by_phase) by_phase += count;
  std::int64_t well_formed = 0;
  for (const auto& file : r.files) well_formed += file.events;
  if (by_phase != well_formed) return "phases do not add up to the events";
  if (r.slices != static_cast<std::int64_t>(t.slices()))
    return "the report counts other slices than the store holds";
  std::size_t in_lanes = 0;
  for (trace::LaneId lane = 0; lane < t.lanes().size(); ++lane) {
    const trace::LaneInfo& l = t.lanes()[lane];
    in_lanes += l.count;
    for (trace::SliceId s = l.first; s < l.first + l.count; ++s) {
      if (t.duration(s) < 0) return "a slice ends before it starts";
      if (s > l.first && t.end(s - 1) > t.start(s)) return "slices of a lane overlap";
      if (t.start(s) < t.begin() || t.end(s) > t.end()) return "a slice lies outside of the trace";
    }
  }
  if (in_lanes != t.slices()) return "slices stand on no lane";
  for (const trace::FlowArrow& flow : t.flows())
    if ((flow.from != trace::kNoId && flow.from >= t.slices()) ||
        (flow.to != trace::kNoId && flow.to >= t.slices()))
      return "an arrow points beyond the slices";
  if (t.slices() > 0)
    static_cast<void>(trace::read_slice_args(t, static_cast<trace::SliceId>(t.slices() / 2)));
  return "";
}
}  // namespace stepcast::fuzz
