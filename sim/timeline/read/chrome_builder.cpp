#include "sim/timeline/read/chrome_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/timeline/read/classify.hpp"
#include "sim/timeline/read/event_values.hpp"

namespace stepcast::trace {
using chrome_json::RawEvent;

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
