#include "sim/import/chrome_timeline/chrome_timeline.hpp"

#include <algorithm>

#include "sim/core/result.hpp"
#include "sim/import/chrome_json/chrome_json.hpp"
#include "sim/import/chrome_timeline/raw_timeline.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "sim/import/kineto/kineto.hpp"

namespace stepcast::chrome_timeline {
namespace {
using chrome_json::RawEvent;
using chrome_json::value_of;
bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class Builder {
 public:
  Builder(RankTrace& trace, RawTimeline& raw) : trace_(trace), raw_(raw) {}
  void take(const RawEvent& e) {
    ++trace_.entries_read;
    switch (e.phase) {
      case 'M':
        if (e.name == "process_name")
          processes_[std::string(e.pid)] = chrome_json::unescaped(value_of(e.args, "name"));
        if (e.name == "thread_name")
          threads_[{std::string(e.pid), std::string(e.tid)}] =
              chrome_json::unescaped(value_of(e.args, "name"));
        return;
      case 'X':
        if (!has_time(e)) return;
        if (e.has_duration && e.duration < 0)
          return lose("negative_duration",
                      "events that end before they start are lost: the profiler's clock jumped");
        line_of(e).spans.push_back({e.start, e.has_duration ? e.duration : 0, name_of(e)});
        return;
      case 'B':
        if (has_time(e))
          open_[{std::string(e.pid), std::string(e.tid)}].push_back({e.start, 0, name_of(e)});
        return;
      case 'E': {
        if (!has_time(e)) return;
        auto& stack = open_[{std::string(e.pid), std::string(e.tid)}];
        if (stack.empty())
          return lose(
              "end_without_begin",
              "ranges that end and never began are lost: the recording started inside them");
        RawSpan span = stack.back();
        stack.pop_back();
        if (e.start < span.start)
          return lose("negative_duration",
                      "events that end before they start are lost: the profiler's clock jumped");
        span.duration = e.start - span.start;
        line_of(e).spans.push_back(span);
        return;
      }
      default:
        return;  // instants, counters, arrows carry no time of their own
    }
  }
  void finish() {
    std::int64_t open = 0;
    for (const auto& [key, stack] : open_) open += static_cast<std::int64_t>(stack.size());
    trace_.entries_lost += open;
    trace_.anomalies.add("begin_without_end", Severity::warning,
                         "ranges that were still open when the recording stopped are lost",
                         trace_.file, open);
    for (auto& [key, line] : raw_.lines) {
      line.process_name = processes_.contains(key.first) ? processes_[key.first] : key.first;
      line.thread_name = threads_.contains(key) ? threads_[key] : key.second;
      std::stable_sort(line.spans.begin(), line.spans.end(),
                       [](const RawSpan& a, const RawSpan& b) {
                         return a.start != b.start ? a.start < b.start : a.duration > b.duration;
                       });
    }
  }

 private:
  void lose(const char* name, const char* advice) {
    ++trace_.entries_lost;
    trace_.anomalies.add(name, Severity::warning, advice, trace_.file);
  }
  bool has_time(const RawEvent& e) {
    if (!e.has_start) lose("event_without_time", "events without a readable ts are lost");
    return e.has_start;
  }
  std::uint32_t name_of(const RawEvent& e) {
    return raw_.names.id_of(chrome_json::unescaped(e.name));
  }
  RawLine& line_of(const RawEvent& e) {
    return raw_.lines[{std::string(e.pid), std::string(e.tid)}];
  }
  RankTrace& trace_;
  RawTimeline& raw_;
  std::map<std::string, std::string> processes_;
  std::map<LineKey, std::string> threads_;
  std::map<LineKey, std::vector<RawSpan>> open_;
};
bool is_horovod(const RawTimeline& raw) {
  for (std::uint32_t i = 0; i < raw.names.size(); ++i)
    if (raw.names.text_of(i).starts_with("NEGOTIATE_")) return true;
  return false;
}
}  // namespace

std::uint32_t add_track(RankTrace& trace, bool is_device, const std::string& label) {
  trace.tracks.push_back({is_device, 0, static_cast<std::int64_t>(trace.tracks.size()), label});
  return static_cast<std::uint32_t>(trace.tracks.size() - 1);
}
void add_event(RankTrace& trace, const RawTimeline& raw, std::uint32_t track, const RawSpan& span,
               EventKind kind) {
  TraceEvent e;
  e.start = span.start, e.duration = span.duration, e.track = track, e.kind = kind;
  e.name = trace.names.id_of(raw.names.text_of(span.name));
  trace.events.push_back(e);
}

bool sniff(std::string_view head) {
  if (!chrome_json::sniff(head)) return false;
  for (std::string_view word :
       {"\"schemaVersion\"", "\"deviceProperties\"", "\"distributedInfo\"", "\"cpu_op\"",
        "\"cuda_runtime\"", "ProfilerStep", "\"python_function\"", "\"gpu_memcpy\"", "\"Operator\"",
        "\"Kernel\""})
    if (contains(head, word)) return false;
  for (std::string_view word :
       {"NEGOTIATE_", "/device:", "/job:", "/host:", "/gpu:", "stream:all", "XLA ", "TensorFlow"})
    if (contains(head, word)) return true;
  return false;
}

RankTrace read_timeline(const std::string& path, const Options& options) {
  RankTrace trace;
  trace.file = path;
  RawTimeline raw;
  Builder builder(trace, raw);
  const auto summary = chrome_json::read(path, [&](const RawEvent& e) { builder.take(e); },
                                         trace.anomalies, {.allow_partial = options.allow_partial});
  trace.bytes = summary.bytes;
  trace.entries_lost += summary.damaged;
  builder.finish();
  trace.rank = kineto::rank_in_name(path);
  if (is_horovod(raw))
    trace.format = "horovod", take_horovod(raw, trace);
  else
    trace.format = "tensorflow", take_tensorflow(raw, trace);
  if (trace.events.empty())
    throw InputError(Problem{path, "", "holds no range of a Horovod or TensorFlow timeline",
                             "name the kind in front if it is another one"});
  std::vector<StepMark> marked = std::move(trace.steps);
  finish_events(trace);
  if (marked.empty())
    find_steps(trace);
  else
    trace.steps = std::move(marked), trace.step_source = "Steps line";
  return trace;
}
}  // namespace stepcast::chrome_timeline
