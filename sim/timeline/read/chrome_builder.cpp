#include "sim/timeline/read/chrome_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "sim/import/common/nccl_identity.hpp"
#include "sim/import/kineto/collective_args.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/timeline/read/classify.hpp"
#include "sim/timeline/read/members.hpp"

namespace stepcast::trace {
using chrome_json::RawEvent;
using chrome_json::value_of;
namespace {
/// Nanoseconds an event may lie at: years 1954 to 2052 as Unix time, with room below 2^63 for a
/// length of 15 years, a time base and the offset between two clocks, so that no sum of them
/// overflows.
constexpr Nanoseconds kEarliest = -500'000'000'000'000'000, kLatest = 2'600'000'000'000'000'000,
                      kLongest = 500'000'000'000'000'000;
std::string plain(std::string_view raw) { return chrome_json::unescaped(raw); }
/// A number, also where the writer put it in quotes.
bool number_of(std::string_view text, double& out) {
  if (text == "true" || text == "false") {
    out = text == "true" ? 1 : 0;
    return true;
  }
  const std::string copy(text);
  char* end = nullptr;
  out = std::strtod(copy.c_str(), &end);
  return !copy.empty() && end == copy.c_str() + copy.size() && std::isfinite(out);
}
std::int64_t integer_of(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty() ? value
                                                                                   : otherwise;
}
}  // namespace

ChromeBuilder::ChromeBuilder(std::string path, ImportReport& report)
    : path_(std::move(path)), report_(report) {
  SourceFile file;
  file.path = path_;
  source_ = builder_.add_source(std::move(file));
  bases_.push_back(0);
}

void ChromeBuilder::note(const char* name, Severity severity, const char* advice,
                         std::uint64_t offset) {
  // Texts are made for the few places that are kept.
  report_.anomalies.add(name, severity, advice,
                        report_.anomalies.count_of(name) < 5
                            ? fmt::format("{} @ byte {}", path_, offset)
                            : std::string{});
}
void ChromeBuilder::lose(const char* name, const char* advice, std::uint64_t offset) {
  ++report_.lost;
  note(name, Severity::warning, advice, offset);
}

std::uint32_t ChromeBuilder::track_of(std::string_view pid, std::string_view tid) {
  if (last_track_ != kNoId && pid == last_pid_ && tid == last_tid_) return last_track_;
  last_pid_ = pid, last_tid_ = tid;
  std::string key = std::to_string(document_) + '\n' + last_pid_ + '\n' + last_tid_;
  last_track_ = track_keys_.id_of(key);
  if (last_track_ == tracks_.size()) {
    TrackState state;
    state.document = document_, state.pid = last_pid_, state.tid = last_tid_;
    tracks_.push_back(std::move(state));
    StoreBuilder::TrackSpec spec;
    spec.source = source_;
    builder_.add_track(std::move(spec));
  }
  return last_track_;
}

std::uint32_t ChromeBuilder::side_track_of(TrackKind kind, std::string_view pid,
                                           std::string_view group) {
  const std::string key =
      fmt::format("{}\n{}\n\n{}\n{}", document_, pid, static_cast<int>(kind), group);
  const std::uint32_t track = track_keys_.id_of(key);
  if (track == tracks_.size()) {
    TrackState state;
    state.document = document_, state.pid = pid, state.kind = kind, state.group = plain(group),
    state.has_events = true;
    tracks_.push_back(std::move(state));
    StoreBuilder::TrackSpec spec;
    spec.source = source_, spec.kind = kind;
    builder_.add_track(std::move(spec));
  }
  return track;
}

OpId ChromeBuilder::op_of(std::string_view name, std::string_view category, std::string_view args) {
  const bool is_escaped = name.find('\\') != std::string_view::npos;
  const std::uint32_t name_id = is_escaped ? builder_.text(plain(name)) : builder_.text(name);
  if (last_category_id_ == kNoId || category != last_category_) {
    last_category_ = category;
    last_category_id_ = builder_.text(plain(category));
  }
  if (name_id >= op_by_name_.size())
    op_by_name_.resize(std::max<std::size_t>(name_id + 1, op_by_name_.size() * 2));
  KnownOp& known = op_by_name_[name_id];
  if (known.category != last_category_id_ || known.needs_args) {
    const std::string name_text = plain(name), category_text = plain(category);
    const SliceCategory shown = classify(name_text, category_text, args);
    known.category = last_category_id_;
    known.needs_args = depends_on_args(name_text, category_text);
    known.is_communication = is_communication(shown);
    known.op = builder_.op(name_text, category_text, shown);
  }
  op_is_communication_ = known.is_communication;
  return known.op;
}

void ChromeBuilder::take(const RawEvent& event) {
  ++events_, ++report_.events;
  const auto letter = static_cast<unsigned char>(event.phase);
  ++report_.events_by_phase[letter < 128 ? letter : '?'];
  if (event.phase == 'M') return take_metadata(event);
  if (!event.has_start)
    return lose("event_without_time", "events without a readable ts stand nowhere in time",
                event.offset);
  if (event.start < kEarliest || event.start > kLatest)
    return lose("time_out_of_range", "events decades away from now carry a damaged ts",
                event.offset);
  switch (event.phase) {
    case 'X':
      return take_complete(event);
    case 'B':
    case 'E': {
      const std::uint32_t track = track_of(event.pid, event.tid);
      tracks_[track].has_events = true;
      threads_.push_back({track, event.start, track, op_of(event.name, event.category, event.args),
                          event.offset, event.phase == 'B'});
      return;
    }
    case 'b':
    case 'e':
    case 'n':
    case 'S':
    case 'F':
    case 'T':
    case 'p':
      return take_async(event);
    case 's':
    case 't':
    case 'f':
      return take_flow(event, event.id, event.phase);
    case 'C':
      return take_counter(event);
    case 'i':
    case 'I':
    case 'R':
      return take_instant(event);
    case 'P':
    case 'N':
    case 'O':
    case 'D':
    case 'v':
    case 'V':
    case 'c':
    case '(':
    case ')':
      note("shown_as_instant", Severity::info,
           "samples, object snapshots, memory dumps and clock marks are shown as instants; details "
           "are in their arguments",
           event.offset);
      return take_instant(event);
    default:
      note("phase_unknown", Severity::warning, "events of an unknown phase are shown as instants",
           event.offset);
      return take_instant(event);
  }
}

void ChromeBuilder::take_complete(const RawEvent& event) {
  const std::uint32_t track = track_of(event.pid, event.tid);
  TrackState& state = tracks_[track];
  state.has_events = true;
  Nanoseconds duration = event.duration;
  if (!event.has_duration) {
    note("duration_missing", Severity::warning, "slices without dur are shown without length",
         event.offset);
    duration = 0;
  } else if (duration < 0) {
    note("duration_negative", Severity::warning,
         "slices that end before they start are shown without length: the profiler's clock jumped",
         event.offset);
    duration = 0;
  }
  if (duration > kLongest) {
    note("duration_out_of_range", Severity::warning,
         "slices of more than 15 years are shown without length: their dur is damaged",
         event.offset);
    duration = 0;
  }
  const OpId op = op_of(event.name, event.category, event.args);
  if (!state.is_device && !state.is_host) {
    const EventPlace place = place_of(last_category_);
    state.is_device = place == EventPlace::device, state.is_host = place == EventPlace::host;
    is_kineto_ |= place != EventPlace::unknown;
  }
  builder_.add_slice(track, event.start, duration, op, event.offset);
  if (op_is_communication_)
    note_collective(event, event.args.size() > 2 && depends_on_args(event.name, event.category));
  if (event.name.starts_with("ProfilerStep#")) {
    const std::int64_t number = integer_of(event.name.substr(13), -1);
    if (number >= 0 && !state.is_device)
      steps_.push_back({number, event.start, event.start + duration});
  } else if (!state.is_device && !state.is_host && event.args.size() > 8) {
    // Tools that plot operation tables put the step into the arguments.
    if (const std::int64_t step = integer_of(value_of(event.args, "step"), -1); step >= 0)
      builder_.widen_step(track, step, event.start, event.start + duration);
  }
  if (event.has_rare && !event.bind_id.empty() && (event.has_flow_in || event.has_flow_out))
    take_flow(event, event.bind_id,
              event.has_flow_in && event.has_flow_out ? 't'
              : event.has_flow_in                     ? 'f'
                                                      : 's');
}

void ChromeBuilder::note_collective(const RawEvent& event, bool has_identity_args) {
  std::string key;
  if (has_identity_args) {
    if (const auto call = kineto::call_from_metadata(event.args)) {
      std::string members;
      for (const int rank : call->ranks)
        members += (members.empty() ? "" : ",") + std::to_string(rank);
      const std::string group = !members.empty() ? "ranks " + members : call->group;
      const std::string kind =
          call->collective ? std::string(text_of(*call->collective)) : call->name;
      builder_.identify_last_slice(
          kind, group, static_cast<std::uint32_t>(std::max(0, call->group_size)), call->bytes);
      key = kind + '\n' + group;
    }
  }
  if (key.empty()) {
    bool is_known = false;
    const auto collective = collective_named_in(event.name, &is_known);
    key = collective ? std::string(text_of(*collective)) : std::string(event.name.substr(0, 200));
  }
  marks_.push_back({mark_keys_.id_of(key), event.start,
                    event.start + std::clamp<Nanoseconds>(event.has_duration ? event.duration : 0,
                                                          0, kLongest)});
}

void ChromeBuilder::take_instant(const RawEvent& event) {
  const std::uint32_t track = track_of(event.pid, event.tid);
  tracks_[track].has_events = true;
  builder_.add_instant(track, event.start, op_of(event.name, event.category, event.args),
                       event.offset);
  ++report_.instants;
  if (event.name == "[memory]") {  // PyTorch's allocator: one event a change
    const std::string_view total = value_of(event.args, "Total Allocated");
    double bytes = 0;
    if (!total.empty() && number_of(total, bytes)) {
      const std::string device(value_of(event.args, "Device Id"));
      builder_.add_counter(
          side_track_of(
              TrackKind::counter, event.pid,
              device == "-1" || device.empty() ? "memory of the host" : "memory of GPU " + device),
          "allocated bytes", event.start, bytes);
    }
  }
}

void ChromeBuilder::take_counter(const RawEvent& event) {
  std::string group = plain(event.name);
  if (!event.id.empty()) group += " " + std::string(event.id);
  const std::uint32_t track = side_track_of(TrackKind::counter, event.pid, group);
  bool has_value = false;
  for_each_member(event.args, [&](std::string_view key, std::string_view value, bool) {
    double number = 0;
    if (!number_of(value, number)) return;
    builder_.add_counter(track, plain(key), event.start, number);
    ++report_.counter_values;
    has_value = true;
  });
  if (!has_value)
    lose("counter_without_number", "counter events whose arguments hold no number show nothing",
         event.offset);
}

void ChromeBuilder::take_async(const RawEvent& event) {
  std::string group = plain(event.category.empty() ? event.name : event.category);
  const std::uint32_t track = side_track_of(TrackKind::async, event.pid, group);
  const OpId op = op_of(event.name, event.category, event.args);
  if (event.phase == 'n' || event.phase == 'T' || event.phase == 'p') {
    ++report_.instants;
    return builder_.add_instant(track, event.start, op, event.offset);
  }
  // An operation is its track, id and (legacy S and F) name.
  std::size_t key = std::hash<std::string_view>{}(event.id2.empty() ? event.id : event.id2);
  if (event.phase == 'S' || event.phase == 'F')
    key ^= std::hash<std::string_view>{}(event.name) * 31;
  key = key * 0x9E3779B97F4A7C15ULL + track;
  asyncs_.push_back(
      {key, event.start, track, op, event.offset, event.phase == 'b' || event.phase == 'S'});
}

std::uint64_t ChromeBuilder::flow_key(std::string_view category, std::string_view id) const {
  return (std::hash<std::string_view>{}(category)*31 + std::hash<std::string_view>{}(id)) *
             0x9E3779B97F4A7C15ULL +
         document_;
}

void ChromeBuilder::take_flow(const RawEvent& event, std::string_view id, char phase) {
  const std::uint32_t track = track_of(event.pid, event.tid);
  FlowEvent flow;
  flow.key = flow_key(event.category, id.empty() ? event.id2 : id);
  flow.time = event.start, flow.track = track, flow.offset = event.offset;
  flow.op = op_of(event.name, event.category, {});
  flow.order = phase == 's' ? 0 : phase == 't' ? 1 : 2;
  flow.binds_next = phase == 'f' && !event.binds_enclosing;
  flows_.push_back(flow);
}

void ChromeBuilder::take_metadata(const RawEvent& event) {
  ++report_.metadata;
  const auto text_arg = [&](std::string_view key) { return plain(value_of(event.args, key)); };
  if (event.name == "thread_name" || event.name == "thread_sort_index") {
    TrackState& state = tracks_[track_of(event.pid, event.tid)];
    if (event.name == "thread_name")
      state.thread_name = text_arg("name"), state.has_name = true;
    else
      state.sort = integer_of(value_of(event.args, "sort_index"), 0);
    return;
  }
  if (event.name == "stepcast_track") {  // our own export says what a row was
    TrackState& state = tracks_[track_of(event.pid, event.tid)];
    const std::string_view kind = value_of(event.args, "kind");
    state.stated_kind = kind == "host_thread" ? TrackKind::host_thread
                        : kind == "async"     ? TrackKind::async
                                              : TrackKind::device_stream;
    state.has_stated_kind = true;
    return;
  }
  ProcessState& process = processes_[{document_, std::string(event.pid)}];
  if (event.name == "process_name") {
    std::string name = text_arg("name");
    if (!process.name.empty() && process.name != name) {
      note("process_renamed", Severity::warning,
           "one pid has several names: traces merged without renumbering share rows; merge them as "
           "a folder of files instead",
           event.offset);
      if (process.renames++ < 4 && process.name.find(name) == std::string::npos)
        name = process.name + " / " + name;
      else
        name = process.name;
    }
    process.name = std::move(name);
  } else if (event.name == "process_labels") {
    process.labels = text_arg("labels");
  } else if (event.name == "process_sort_index") {
    process.sort = integer_of(value_of(event.args, "sort_index"), 0), process.has_sort = true;
  } else {
    builder_.add_metadata(source_, fmt::format("{} (pid {})", event.name, event.pid),
                          plain(event.args));
  }
}

void ChromeBuilder::end_document(const std::string& metadata) {
  const std::string_view info = value_of(metadata, "distributedInfo");
  if (const std::int64_t rank = integer_of(value_of(info, "rank"), -1);
      rank >= 0 && rank < 100'000'000 && document_ == 0)
    rank_ = static_cast<int>(rank);
  if (!info.empty() || !value_of(metadata, "deviceProperties").empty() || is_kineto_)
    format_ = "kineto";
  const std::string_view other = value_of(metadata, "otherData");
  is_ours_ = value_of(other, "writer") == "stepcast";
  if (is_ours_) {
    format_ = "stepcast";
    builder_.set_origin(plain(value_of(other, "origin")));
  }
  for (const std::string_view key : {"hostname", "host_name", "host"})
    if (host_.empty()) host_ = plain(value_of(metadata, key));
  const std::int64_t base = integer_of(value_of(metadata, "baseTimeNanoseconds"), 0);
  if (base > 0 && base < (std::int64_t{1} << 61)) bases_[source_] = base;
  for_each_member(metadata, [&](std::string_view key, std::string_view value, bool) {
    if (key != "traceEvents")
      builder_.add_metadata(
          source_, plain(key),
          value.size() > 100'000 ? plain(value.substr(0, 100'000)) + " ..." : plain(value));
  });
  // What may follow is another document with processes and a time base of its own.
  ++document_;
  last_track_ = kNoId;
  SourceFile file;
  file.path = path_;
  source_ = builder_.add_source(std::move(file));
  bases_.push_back(0);
}

void ChromeBuilder::finish(int fallback_rank) {
  const auto report_pairs = [&](const PairLosses& losses) {
    for (const std::uint64_t place : losses.places)
      report_.anomalies.add("pair_incomplete", Severity::warning,
                            "a begin without end is shown to the end of the trace, an end without "
                            "begin as an instant",
                            fmt::format("{} @ byte {}", path_, place));
    report_.anomalies.add("pair_incomplete", Severity::warning, "", "",
                          losses.begin_without_end + losses.end_without_begin -
                              static_cast<std::int64_t>(losses.places.size()));
    report_.instants += losses.end_without_begin;
  };
  Nanoseconds last = builder_.latest_end();
  for (const PairEvent& event : threads_) last = std::max(last, event.time);
  for (const PairEvent& event : asyncs_) last = std::max(last, event.time);
  report_pairs(add_pairs(threads_, last, builder_));
  report_pairs(add_pairs(asyncs_, last, builder_));
  threads_ = {}, asyncs_ = {};
  const FlowLosses flows = add_flows(flows_, builder_);
  flows_ = {};
  report_.flow_arrows += flows.arrows;
  report_.lost += flows.without_start + flows.without_finish;
  for (const std::uint64_t place : flows.places)
    report_.anomalies.add(
        "arrow_incomplete", Severity::info,
        "ends of arrows whose other end the file lacks (launches before the window) are not drawn",
        fmt::format("{} @ byte {}", path_, place));
  report_.anomalies.add(
      "arrow_incomplete", Severity::info, "", "",
      flows.without_start + flows.without_finish - static_cast<std::int64_t>(flows.places.size()));
  name_tracks(fallback_rank);
  for (Nanoseconds& base : bases_) {
    if (base <= kLatest + kLongest - std::max<Nanoseconds>(0, last)) continue;
    base = 0;
    report_.anomalies.add("time_base_ignored", Severity::warning,
                          "baseTimeNanoseconds and the events' own times together lie decades away "
                          "from now: one of them is damaged",
                          path_);
  }
  for (std::uint32_t source = 0; source < bases_.size(); ++source)
    builder_.source(source).time_base = bases_[source];
  builder_.shift_sources(bases_);
  for (CollectiveMark& mark : marks_) mark.start += bases_[0], mark.end += bases_[0];
  for (StepMarkSeen& step : steps_) step.start += bases_[0], step.end += bases_[0];
}
}  // namespace stepcast::trace
