#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sim/import/common/nccl_identity.hpp"
#include "sim/import/kineto/collective_args.hpp"
#include "sim/timeline/read/chrome_builder.hpp"
#include "sim/timeline/read/classify.hpp"
#include "sim/timeline/read/event_values.hpp"
#include "sim/timeline/read/members.hpp"

/// What each kind of event adds to the store: slices, instants, counters, asynchronous operations,
/// arrows.
namespace stepcast::trace {
using chrome_json::RawEvent;
using chrome_json::value_of;

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
  // Our own writer's words, see payload_args.
  if (const std::string_view kind =
          key.empty() ? value_of(event.args, "collective") : std::string_view();
      !kind.empty()) {
    const std::string group = plain(value_of(event.args, "group"));
    const auto size = integer_of(value_of(event.args, "group_size"), 0);
    builder_.identify_last_slice(
        plain(kind), group,
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(size, 0, 1'000'000'000)),
        std::max<std::int64_t>(0, integer_of(value_of(event.args, "bytes"), 0)));
    key = std::string(kind) + '\n' + group;
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
}  // namespace stepcast::trace
