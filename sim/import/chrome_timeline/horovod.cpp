// Horovod's timeline: one process a tensor, negotiation and operation as nested ranges.
#include <algorithm>
#include <set>
#include <tuple>

#include "sim/import/chrome_timeline/raw_timeline.hpp"
#include "sim/import/common/nccl_identity.hpp"

namespace stepcast::chrome_timeline {
namespace {
/// The library's own operation: NCCL_ALLREDUCE, MPI_ALLGATHER, GLOO_BROADCAST, CCL_..., DDL_...
bool is_library_call(const std::string& name) {
  for (std::string_view library : {"NCCL_", "MPI_", "GLOO_", "CCL_", "DDL_", "CUDA_", "ROCM_"})
    if (name.starts_with(library)) return collective_named_in(name).has_value();
  return false;
}
bool is_operation(const std::string& name) {
  return !name.starts_with("NEGOTIATE_") && !is_library_call(name) &&
         collective_named_in(name).has_value();
}
}  // namespace

void take_horovod(RawTimeline& raw, RankTrace& trace) {
  const std::uint32_t host = add_track(trace, false, "negotiation"),
                      wire = add_track(trace, true, "Horovod");
  bool has_library_calls = false;
  for (std::uint32_t i = 0; i < raw.names.size(); ++i)
    has_library_calls = has_library_calls || is_library_call(raw.names.text_of(i));
  std::set<std::tuple<Nanoseconds, std::int64_t, std::uint32_t>> seen;
  std::int64_t fused = 0;
  const RawLine* pace =
      nullptr;  // the tensor that is reduced most often, and of those first: once a step
  std::size_t most = 0;
  for (const auto& [key, line] : raw.lines) {
    std::size_t operations = 0;
    for (const RawSpan& span : line.spans) {
      const std::string& name = raw.names.text_of(span.name);
      operations += is_operation(name) ? 1 : 0;
      if (name.starts_with("NEGOTIATE_")) {
        add_event(trace, raw, host, span, EventKind::host_op);
        continue;
      }
      if (has_library_calls ? !is_library_call(name) : !is_operation(name)) continue;
      if (!seen.emplace(span.start, span.duration, span.name).second) {
        ++fused;
        continue;
      }
      add_event(trace, raw, wire, span, EventKind::collective);
      CollectiveCall call;
      call.name = name, call.collective = collective_named_in(name),
      call.source = CollectiveSource::annotation;
      trace.events.back().collective = static_cast<std::uint32_t>(trace.collectives.size());
      trace.collectives.push_back(std::move(call));
    }
    if (operations > most || (operations == most && operations > 0 &&
                              line.spans.front().start < pace->spans.front().start))
      most = operations, pace = &line;
  }
  if (most > 1) {
    const std::uint32_t steps = add_track(trace, false, "steps of " + pace->process_name);
    const std::uint32_t name = raw.names.id_of("iteration of " + pace->process_name);
    for (const RawSpan& span : pace->spans)
      if (is_operation(raw.names.text_of(span.name)))
        add_event(trace, raw, steps, {span.start, span.duration, name}, EventKind::annotation);
  }
  trace.anomalies.add("fused_tensors", Severity::info,
                      "tensors that travelled in one fused message count once", trace.file, fused);
  trace.anomalies.add("no_compute_in_timeline", Severity::info,
                      "Horovod records communication only: exposed communication cannot be told, "
                      "and message sizes are not in the file",
                      trace.file);
}
}  // namespace stepcast::chrome_timeline
