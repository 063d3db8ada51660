#include "sim/import/kineto/kineto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "sim/core/result.hpp"
#include "sim/import/chrome_json/chrome_json.hpp"
#include "sim/import/common/nccl_identity.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "sim/import/kineto/collective_args.hpp"
#include "sim/import/kineto/event_class.hpp"

namespace stepcast::kineto {
namespace {
using chrome_json::RawEvent;
using chrome_json::value_of;

std::int64_t integer_of(std::string_view text, std::int64_t otherwise) {
  if (text.starts_with("stream ")) text.remove_prefix(7);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty() ? value
                                                                                   : otherwise;
}

class Builder {
 public:
  Builder(RankTrace& trace, const Options& options) : trace_(trace), options_(options) {}
  void take(const RawEvent& event);
  void finish(const std::string& metadata);

 private:
  struct Range {
    Nanoseconds start, end;
    std::uint32_t collective;
  };  // what encloses a launch of this collective

  void lose(const char* name, const char* advice) {
    ++trace_.entries_lost;
    trace_.anomalies.add(name, Severity::warning, advice, trace_.file);
  }
  std::uint32_t track_of(std::string_view pid, std::string_view tid, bool is_device) {
    if (pid == last_pid_ && tid == last_tid_ && is_device == last_is_device_ &&
        last_track_ != kNone)
      return last_track_;
    std::string key(pid);
    key += is_device ? "\x01" : "\x02";
    key += tid;
    const auto [at, is_new] =
        tracks_.emplace(std::move(key), static_cast<std::uint32_t>(trace_.tracks.size()));
    if (is_new)
      trace_.tracks.push_back(
          {is_device, integer_of(pid, -1), integer_of(tid, -1),
           is_device ? "GPU " + std::string(pid) + " stream " + std::to_string(integer_of(tid, -1))
                     : "thread " + std::string(tid)});
    last_pid_ = pid, last_tid_ = tid, last_is_device_ = is_device, last_track_ = at->second;
    return last_track_;
  }
  std::uint32_t add_call(CollectiveCall call) {
    trace_.collectives.push_back(std::move(call));
    return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
  }
  /// Equal shapes share an entry; steps repeat them.
  std::uint32_t shape_of(std::string_view args) {
    const std::string_view dims = value_of(args, "Input Dims");
    if (!dims.starts_with('[')) return kNone;
    const std::string_view types = value_of(args, "Input type"),
                           values = value_of(args, "Concrete Inputs");
    key_.assign(dims), key_ += '\x01', key_ += types, key_ += '\x01', key_ += values;
    const auto found = shapes_.find(key_);
    if (found != shapes_.end()) return found->second;
    const auto id = static_cast<std::uint32_t>(trace_.op_shapes.size());
    trace_.op_shapes.push_back({std::string(dims), std::string(types), std::string(values)});
    shapes_.emplace(key_, id);
    return id;
  }
  void begin(const RawEvent& raw);
  void end(const RawEvent& raw);
  void take_complete(const RawEvent& raw);
  void read_metadata(const std::string& metadata);
  void identify_collectives();

  /// A begun event whose end is still to come, with its own copy of the texts.
  struct Open {
    std::string category, name, args;
    Nanoseconds start = 0;
  };

  RankTrace& trace_;
  const Options& options_;
  std::map<std::pair<std::string, std::string>, std::vector<Open>> open_;  // by pid and tid
  std::map<std::string, std::uint32_t, std::less<>> tracks_;
  std::string last_pid_, last_tid_;
  bool last_is_device_ = false;
  std::uint32_t last_track_ = kNone;
  std::unordered_map<std::string, std::uint32_t> shapes_;
  std::string key_;
  std::map<std::string, std::int64_t, std::less<>> skipped_;
  std::map<std::uint32_t, std::vector<Range>> ranges_;  // by host track
};

void Builder::take(const RawEvent& raw) {
  ++trace_.entries_read;
  // Flows repeat the correlation ids; metadata, instants and counters carry no time of their own.
  if (raw.phase == 'X')
    take_complete(raw);
  else if (raw.phase == 'B')
    begin(raw);
  else if (raw.phase == 'E')
    end(raw);
}

void Builder::begin(const RawEvent& raw) {
  if (!raw.has_start) return lose("event_without_time", "events without a readable ts are lost");
  open_[{std::string(raw.pid), std::string(raw.tid)}].push_back(
      {std::string(raw.category), std::string(raw.name), std::string(raw.args), raw.start});
}

void Builder::end(const RawEvent& raw) {
  if (!raw.has_start) return lose("event_without_time", "events without a readable ts are lost");
  const auto found = open_.find({std::string(raw.pid), std::string(raw.tid)});
  if (found == open_.end() || found->second.empty())
    return lose("end_without_begin", "ends that nothing began are lost");
  const Open opened = std::move(found->second.back());
  found->second.pop_back();
  RawEvent joined = raw;
  joined.category = opened.category;
  joined.name = opened.name;
  joined.args = opened.args;
  joined.start = opened.start;
  joined.duration = raw.start - opened.start;
  joined.has_duration = true;
  take_complete(joined);
}

void Builder::take_complete(const RawEvent& raw) {
  const Class c = class_of(raw.category);
  if (c == Class::skipped || c == Class::unknown) {
    const auto found = skipped_.find(raw.category);
    if (found == skipped_.end())
      skipped_.emplace(std::string(raw.category), 1);
    else
      ++found->second;
    return;
  }
  if (!raw.has_start) return lose("event_without_time", "events without a readable ts are lost");
  if (raw.has_duration && raw.duration < 0)
    return lose("negative_duration",
                "events that end before they start are lost: the profiler's clock jumped");
  if (!raw.has_duration)
    trace_.anomalies.add("event_without_duration", Severity::warning,
                         "complete events without a readable dur count as no time: sums over them "
                         "are too small",
                         trace_.file + " (" + std::string(raw.category) + ")");
  TraceEvent event;
  event.start = raw.start;
  event.duration = raw.has_duration ? raw.duration : 0;
  const bool is_device =
      c == Class::kernel || c == Class::copy || c == Class::memset || c == Class::device_range;
  if (!options_.keep_host_ops && (c == Class::host_op || c == Class::device_range)) return;
  event.track = track_of(raw.pid, raw.tid, is_device);
  if (is_device || c == Class::runtime)
    event.correlation =
        static_cast<std::uint32_t>(integer_of(value_of(raw.args, "correlation"), 0));
  switch (c) {
    case Class::kernel:
      event.kind = is_communication_kernel(raw.name) ? EventKind::collective : EventKind::kernel;
      if (event.kind == EventKind::collective)
        if (auto call = call_from_metadata(raw.args)) event.collective = add_call(std::move(*call));
      break;
    case Class::copy:
      event.kind = EventKind::copy;
      break;
    case Class::memset:
      event.kind = EventKind::memset;
      break;
    case Class::runtime:
      event.kind = kind_of_call(raw.name);
      break;
    case Class::device_range:
      event.kind = EventKind::device_range;
      break;
    default: {
      event.kind = c == Class::host_op ? EventKind::host_op : EventKind::annotation;
      if (event.kind == EventKind::host_op && has_costly_kernels(raw.name)) {
        event.shape = shape_of(raw.args);
        event.correlation =
            static_cast<std::uint32_t>(integer_of(value_of(raw.args, "Record function id"), 0));
      }
      const bool is_annotation = raw.name.starts_with("nccl:") || raw.name.starts_with("gloo:") ||
                                 raw.name.starts_with("mpi:") || raw.name.starts_with("ucc:");
      if (is_annotation || raw.name == "record_param_comms") {
        auto call = call_from_metadata(raw.args);
        if (!call && is_annotation) call = call_from_annotation(raw.name, raw.args, 0);
        if (call) {
          const std::uint32_t index = add_call(std::move(*call));
          ranges_[event.track].push_back({event.start, event.end(), index});
          if (raw.name.starts_with("gloo:") || raw.name.starts_with("mpi:"))
            event.kind = EventKind::collective, event.collective = index;
        }
      }
    }
  }
  event.name = raw.name.find('\\') == std::string_view::npos
                   ? trace_.names.id_of(raw.name)
                   : trace_.names.id_of(chrome_json::unescaped(raw.name));
  trace_.events.push_back(event);
}

void Builder::read_metadata(const std::string& metadata) {
  const std::string_view info = value_of(metadata, "distributedInfo");
  trace_.rank = static_cast<int>(integer_of(value_of(info, "rank"), -1));
  trace_.world = static_cast<int>(integer_of(value_of(info, "world_size"), 0));
  if (trace_.rank < 0 || trace_.rank > 100'000'000) {
    trace_.rank = rank_in_name(trace_.file);
    if (trace_.rank >= 0)
      trace_.anomalies.add("rank_from_name", Severity::info,
                           "the trace states no rank (distributedInfo); the file's name gives it",
                           trace_.file);
    else
      trace_.anomalies.add(
          "rank_unknown", Severity::info,
          "neither the trace nor its name states a rank; 0 is taken when it stands alone",
          trace_.file);
  }
  if (trace_.world > 0 && trace_.rank >= trace_.world)
    trace_.anomalies.add("rank_beyond_world", Severity::warning,
                         "distributedInfo states a rank that its world_size has no place for",
                         fmt::format("{} (rank {} of {})", trace_.file, trace_.rank, trace_.world));
  const std::int64_t base = integer_of(value_of(metadata, "baseTimeNanoseconds"), 0);
  if (base > 0 && base < (std::int64_t{1} << 62))
    for (TraceEvent& e : trace_.events) e.start += base;
  const std::string_view devices = value_of(metadata, "deviceProperties");
  for (std::size_t at = 0; (at = devices.find("\"name\"", at)) != std::string_view::npos; ++at) {
    const auto open = devices.find('"', devices.find(':', at));
    const auto close = open == std::string_view::npos ? open : devices.find('"', open + 1);
    if (close != std::string_view::npos)
      trace_.devices.emplace_back(devices.substr(open + 1, close - open - 1));
  }
  if (base > 0)
    for (auto& [track, list] : ranges_)
      for (Range& range : list) range.start += base, range.end += base;
}

/// Kernels without metadata take the collective of the range around their launch: the name of a
/// kernel lies (one kernel may serve all).
void Builder::identify_collectives() {
  for (auto& [track, list] : ranges_)
    std::sort(list.begin(), list.end(),
              [](const Range& a, const Range& b) { return a.start < b.start; });
  std::int64_t by_name = 0, unknown = 0, sizeless = 0;
  for (TraceEvent& e : trace_.events) {
    if (e.kind != EventKind::collective || !trace_.tracks[e.track].is_device) continue;
    if (e.collective == kNone && e.launch != kNone) {
      const TraceEvent& call = trace_.events[e.launch];
      if (const auto found = ranges_.find(call.track); found != ranges_.end()) {
        auto after = std::upper_bound(found->second.begin(), found->second.end(), call.start,
                                      [](Nanoseconds t, const Range& r) { return t < r.start; });
        // Ranges nest at most a few deep; metadata wins over the annotation around it.
        for (int look = 0; after != found->second.begin() && look < 4; ++look) {
          --after;
          if (call.start >= after->end) continue;
          if (e.collective == kNone ||
              trace_.collectives[after->collective].source == CollectiveSource::metadata)
            e.collective = after->collective;
        }
      }
    }
    if (e.collective == kNone) {
      CollectiveCall call;
      bool is_known = false;
      call.name = trace_.names.text_of(e.name);
      call.collective = collective_named_in(call.name, &is_known);
      call.source = is_known ? CollectiveSource::kernel_name : CollectiveSource::unknown;
      (is_known ? by_name : unknown) += 1;
      e.collective = add_call(std::move(call));
    }
    if (trace_.collectives[e.collective].bytes == 0) ++sizeless;
  }
  trace_.anomalies.add("collective_from_kernel_name", Severity::warning,
                       "no metadata and no nccl: annotation around the launch; the kernel's name "
                       "was believed, which may name another collective",
                       trace_.file, by_name);
  trace_.anomalies.add("collective_unknown", Severity::warning,
                       "communication kernels whose collective nothing tells", trace_.file,
                       unknown);
  trace_.anomalies.add(
      "collective_without_size", Severity::info,
      "collectives without message size: profile with record_shapes=True or PyTorch 2.3 and later",
      trace_.file, sizeless);
}

void Builder::finish(const std::string& metadata) {
  for (const auto& [thread, list] : open_)
    for (std::size_t i = 0; i < list.size(); ++i)
      lose("begin_without_end", "events that began and never end are lost");
  read_metadata(metadata);
  for (CollectiveCall& call :
       trace_.collectives) {  // an annotation's group is the world unless something says otherwise
    if (call.source != CollectiveSource::annotation) continue;
    call.group_size = trace_.world;
    if (call.collective == Collective::all_gather && trace_.world > 1 &&
        call.bytes < (std::int64_t{1} << 40))
      call.bytes *= trace_.world;
  }
  for (const auto& [category, count] : skipped_) {
    if (class_of(category) == Class::unknown) {
      trace_.entries_lost += count;
      trace_.anomalies.add("unknown_category", Severity::warning,
                           "events of categories this version does not know are left out",
                           trace_.file + " (" + category + ")", count);
    } else {
      trace_.anomalies.add("entries_not_kept", Severity::info,
                           "entries that repeat or decorate others (Python frames, arrows, "
                           "overhead) are read and not kept",
                           trace_.file + " (" + category + ")", count);
    }
  }
  finish_events(trace_);
  identify_collectives();
  find_steps(trace_);
}
}  // namespace

int rank_in_name(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  for (std::string_view word : {"rank", "worker", "Rank", "node"}) {
    auto at = name.find(word);
    if (at == std::string::npos) continue;
    at += word.size();
    if (at < name.size() &&
        (name[at] == '-' || name[at] == '_' || name[at] == '=' || name[at] == '.'))
      ++at;
    int value = -1;
    const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), value);
    if (error == std::errc{} && end != name.data() + at && value >= 0) return value;
  }
  return -1;
}

bool sniff(std::string_view head) { return chrome_json::sniff(head); }

RankTrace read_trace(const std::string& path, const Options& options) {
  RankTrace trace;
  trace.file = path;
  trace.format = "kineto";
  Builder builder(trace, options);
  const auto summary = chrome_json::read(path, [&](const RawEvent& e) { builder.take(e); },
                                         trace.anomalies, {.allow_partial = options.allow_partial});
  trace.bytes = summary.bytes;
  trace.entries_lost += summary.damaged;
  builder.finish(summary.metadata);
  return trace;
}
}  // namespace stepcast::kineto
