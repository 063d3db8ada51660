#include "sim/import/common/rank_trace.hpp"

#include <algorithm>

namespace stepcast {
void finish_events(RankTrace& trace) {
  // Enclosing ranges stand before what they enclose: longer first at equal starts.
  std::stable_sort(trace.events.begin(), trace.events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) {
                     return a.start != b.start ? a.start < b.start : a.duration > b.duration;
                   });
  std::unordered_map<std::uint32_t, std::uint32_t> host_call;  // correlation -> index
  std::int64_t doubled = 0;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& e = trace.events[i];
    if (e.correlation == 0 ||
        (e.kind != EventKind::launch && e.kind != EventKind::sync && e.kind != EventKind::runtime))
      continue;
    const auto [at, is_new] = host_call.emplace(e.correlation, i);
    // Runtime and driver call may share an id (cudaLaunchKernel calls cuLaunchKernel): the outer
    // one comes first.
    if (!is_new &&
        trace.tracks[trace.events[at->second].track].thread != trace.tracks[e.track].thread)
      ++doubled;
  }
  std::int64_t without = 0, early = 0;
  for (TraceEvent& e : trace.events) {
    if (!e.is_on_device() || !trace.tracks[e.track].is_device) continue;
    const auto found = e.correlation == 0 ? host_call.end() : host_call.find(e.correlation);
    if (found == host_call.end()) {
      ++without;
      continue;
    }
    e.launch = found->second;
    TraceEvent& call = trace.events[found->second];
    if (call.kind == EventKind::runtime) call.kind = EventKind::launch;
    if (e.start < call.start) ++early;
  }
  trace.anomalies.add("kernel_without_launch", Severity::info,
                      "device work launched before the recording, by a graph or by an unrecorded "
                      "thread; it is put into the step in which it runs",
                      trace.file, without);
  trace.anomalies.add("kernel_before_launch", Severity::warning,
                      "device work that starts before its launch call: the profiler's clocks of "
                      "host and device disagree there",
                      trace.file, early);
  trace.anomalies.add("correlation_id_reused", Severity::warning,
                      "one correlation id on two threads; the first call is taken", trace.file,
                      doubled);
}
}  // namespace stepcast
