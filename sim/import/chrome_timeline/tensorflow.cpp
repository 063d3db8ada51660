// TensorFlow's, JAX's and XProf's timelines: lines by the names of devices and threads.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "sim/import/chrome_timeline/raw_timeline.hpp"
#include "sim/import/common/nccl_identity.hpp"

namespace stepcast::chrome_timeline {
namespace {
std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}
enum class Line { stream, derived, steps, host, other };
/// What a line holds. `has_streams`: the device has lines of single streams, so summaries of it
/// repeat them.
Line line_of(const std::string& process, const std::string& thread, bool has_streams) {
  const std::string p = lower(process), t = lower(thread);
  const auto in = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  if (in(p, "tensors")) return Line::derived;
  const bool is_device = in(p, "gpu") || in(p, "tpu") || in(p, "stream:");
  if (!is_device) return in(p, "cpu") || in(p, "host") ? Line::host : Line::other;
  if (t == "steps") return Line::steps;
  if (in(p, "stream:all")) return has_streams ? Line::derived : Line::stream;
  if (in(p, "stream:") || in(t, "stream")) return Line::stream;
  if (in(p, "memcpy")) return has_streams ? Line::derived : Line::stream;
  if (has_streams) return Line::derived;
  // A device without streams: TPUs list XLA Ops, old TensorFlow the ops of the device.
  if (in(t, "module") || in(t, "scope") || in(t, "source") || in(t, "launch") ||
      in(t, "framework") || in(t, "async"))
    return Line::derived;
  return Line::stream;
}
bool is_communication(const std::string& name) {
  if (is_communication_kernel(name)) return true;
  const std::string n = lower(name);
  for (std::string_view word : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                "collective-permute", "allreduce", "ncclall"})
    if (n.starts_with(word)) return true;
  return false;
}
EventKind kind_of(const std::string& name, const std::string& process) {
  const std::string n = lower(name);
  if (n.find("memcpy") != std::string::npos || lower(process).find("memcpy") != std::string::npos)
    return EventKind::copy;
  if (n.find("memset") != std::string::npos) return EventKind::memset;
  return is_communication(name) ? EventKind::collective : EventKind::kernel;
}
/// "/job:w/.../device:GPU:0/stream:13 Compute" and "/device:GPU:0": the device both speak of.
std::string device_of(const std::string& process) {
  const std::string p = lower(process);
  for (std::string_view word : {"device:", "gpu:", "tpu:"})
    if (const auto at = p.find(word); at != std::string::npos) {
      std::size_t end = at + word.size();
      while (end < p.size() &&
             (std::isalnum(static_cast<unsigned char>(p[end])) || p[end] == ':' || p[end] == '_'))
        ++end;
      return p.substr(at, end - at);
    }
  return p;
}
}  // namespace

void take_tensorflow(RawTimeline& raw, RankTrace& trace) {
  std::set<std::string> with_streams;
  for (const auto& [key, line] : raw.lines) {
    const std::string p = lower(line.process_name), t = lower(line.thread_name);
    if ((p.find("stream:") != std::string::npos && p.find("stream:all") == std::string::npos) ||
        t.find("stream") != std::string::npos)
      with_streams.insert(device_of(line.process_name));
  }
  std::int64_t derived = 0;
  for (const auto& [key, line] : raw.lines) {
    switch (line_of(line.process_name, line.thread_name,
                    with_streams.contains(device_of(line.process_name)))) {
      case Line::derived:
        derived += static_cast<std::int64_t>(line.spans.size());
        break;
      case Line::steps:
        if (!trace.steps.empty()) break;  // of the first device
        for (const RawSpan& span : line.spans) {
          const std::string& name = raw.names.text_of(span.name);
          std::int64_t number = static_cast<std::int64_t>(trace.steps.size());
          std::from_chars(name.data(), name.data() + name.size(), number);
          trace.steps.push_back({number, span.start, span.start + span.duration});
        }
        break;
      case Line::stream: {
        const std::uint32_t track =
            add_track(trace, true, line.process_name + " " + line.thread_name);
        for (const RawSpan& span : line.spans) {
          const std::string& name = raw.names.text_of(span.name);
          add_event(trace, raw, track, span, kind_of(name, line.process_name));
          if (trace.events.back().kind != EventKind::collective) continue;
          CollectiveCall call;
          bool is_known = false;
          call.name = name, call.collective = collective_named_in(name, &is_known);
          call.source = is_known ? CollectiveSource::kernel_name : CollectiveSource::unknown;
          trace.events.back().collective = static_cast<std::uint32_t>(trace.collectives.size());
          trace.collectives.push_back(std::move(call));
        }
        break;
      }
      default: {
        const std::uint32_t track =
            add_track(trace, false, line.process_name + " " + line.thread_name);
        for (const RawSpan& span : line.spans) {
          const std::string n = lower(raw.names.text_of(span.name));
          const bool marks_step =
              n.starts_with("train") || n.starts_with("step") || n.starts_with("iter");
          add_event(trace, raw, track, span,
                    marks_step ? EventKind::annotation : EventKind::host_op);
        }
      }
    }
  }
  trace.anomalies.add("entries_not_kept", Severity::info,
                      "entries that repeat or decorate others (name scopes, modules, summaries of "
                      "streams) are read and not kept",
                      trace.file, derived);
}
}  // namespace stepcast::chrome_timeline
