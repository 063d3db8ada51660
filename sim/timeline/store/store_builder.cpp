#include "sim/timeline/store/store_builder.hpp"

#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/core/enum_text.hpp"
#include "sim/timeline/store/builder_state.hpp"

namespace stepcast::trace {

StoreBuilder::StoreBuilder() : state_(std::make_unique<State>()) { state_->texts.id_of(""); }
StoreBuilder::~StoreBuilder() = default;
StoreBuilder::StoreBuilder(StoreBuilder&&) noexcept = default;
StoreBuilder& StoreBuilder::operator=(StoreBuilder&&) noexcept = default;

std::uint32_t StoreBuilder::text(std::string_view text) { return state_->texts.id_of(text); }

OpId StoreBuilder::op(std::string_view name, std::string_view category, SliceCategory shown) {
  const Op wanted{text(name), text(category), shown};
  auto& candidates = state_->op_ids[std::uint64_t{wanted.name} << 32 | wanted.category];
  for (const OpId id : candidates)
    if (state_->ops[id].shown == shown) return id;
  // Half of the ids stay free for the twins of overlapped communication.
  if (state_->ops.size() >= kMaxOps / 2 && name != "(further names)")
    return op("(further names)", "", SliceCategory::other);
  state_->ops.push_back(wanted);
  candidates.push_back(static_cast<OpId>(state_->ops.size() - 1));
  return candidates.back();
}

std::uint32_t StoreBuilder::add_source(SourceFile file) {
  state_->sources.push_back(std::move(file));
  state_->furthest_offset.push_back(0);
  return static_cast<std::uint32_t>(state_->sources.size() - 1);
}

std::uint32_t StoreBuilder::add_track(TrackSpec spec) {
  state_->tracks.push_back(std::move(spec));
  state_->counts.push_back(0);
  return static_cast<std::uint32_t>(state_->tracks.size() - 1);
}
StoreBuilder::TrackSpec& StoreBuilder::track(std::uint32_t track) { return state_->tracks[track]; }
std::size_t StoreBuilder::tracks() const { return state_->tracks.size(); }

void StoreBuilder::add_slice(std::uint32_t track, Nanoseconds start, Nanoseconds duration, OpId op,
                             std::uint64_t offset) {
  State& s = *state_;
  STEPCAST_ASSERT(duration >= 0 && track < s.tracks.size() && op < s.ops.size(),
                  "callers give known tracks and ops and no negative time");
  RawSlice raw;
  raw.start = start, raw.track = track;
  if (duration >= Nanoseconds{TraceStore::kLong}) {
    raw.duration = TraceStore::kLong;
    s.long_durations.emplace_back(s.slices, duration);
  } else {
    raw.duration = static_cast<std::uint32_t>(duration);
  }
  raw.op_and_offset_high = op | static_cast<std::uint32_t>(offset >> 32) << 24;
  raw.offset_low = static_cast<std::uint32_t>(offset);
  if (const std::uint32_t source = s.tracks[track].source; source < s.furthest_offset.size())
    s.furthest_offset[source] = std::max(s.furthest_offset[source], offset);
  s.push(raw);
  ++s.counts[track];
  if (!s.has_slice || start + duration > s.latest_end) s.latest_end = start + duration;
  s.has_slice = true;
}

void StoreBuilder::add_instant(std::uint32_t track, Nanoseconds time, OpId op,
                               std::uint64_t offset) {
  state_->instants.push_back({time, track, op, offset});
  if (const std::uint32_t source = state_->tracks[track].source;
      source < state_->furthest_offset.size())
    state_->furthest_offset[source] = std::max(state_->furthest_offset[source], offset);
}

void StoreBuilder::add_counter(std::uint32_t track, std::string_view series, Nanoseconds time,
                               double value) {
  const auto [at, is_new] =
      state_->counter_of.try_emplace({track, text(series)}, state_->counters.size());
  if (is_new) {
    CounterSeries fresh;
    fresh.track = track, fresh.name = series;
    state_->counters.push_back(std::move(fresh));
  }
  CounterSeries& counter = state_->counters[at->second];
  counter.times.push_back(time);
  counter.values.push_back(value);
}

void StoreBuilder::add_flow(std::uint32_t from_track, Nanoseconds from, std::uint32_t to_track,
                            Nanoseconds to, OpId op, bool to_next) {
  state_->flows.push_back({from, to, from_track, to_track, op, to_next});
}

void StoreBuilder::identify_last_slice(std::string_view kind, std::string_view group,
                                       std::uint32_t group_size, std::int64_t bytes) {
  STEPCAST_ASSERT(state_->slices > 0, "a slice was added before");
  state_->collectives.push_back({state_->slices - 1, text(kind), text(group), group_size, bytes});
}

void StoreBuilder::add_metadata(std::uint32_t source, std::string_view key,
                                std::string_view value) {
  state_->metadata.push_back({source, std::string(key), std::string(value)});
}
void StoreBuilder::set_origin(std::string_view origin) { state_->origin = origin; }
std::size_t StoreBuilder::slices() const { return state_->slices; }
Nanoseconds StoreBuilder::latest_end() const { return state_->latest_end; }

SourceFile& StoreBuilder::source(std::uint32_t source) { return state_->sources[source]; }

void StoreBuilder::shift_sources(const std::vector<Nanoseconds>& offsets) {
  State& s = *state_;
  STEPCAST_ASSERT(offsets.size() == s.sources.size(), "one offset a source");
  if (std::all_of(offsets.begin(), offsets.end(), [](Nanoseconds offset) { return offset == 0; }))
    return;
  const auto offset_of = [&](std::uint32_t track) { return offsets[s.tracks[track].source]; };
  for (auto& chunk : s.chunks)
    for (RawSlice& slice : *chunk) slice.start += offset_of(slice.track);
  for (RawInstant& instant : s.instants) instant.time += offset_of(instant.track);
  for (RawFlow& flow : s.flows)
    flow.from_time += offset_of(flow.from), flow.to_time += offset_of(flow.to);
  for (CounterSeries& counter : s.counters)
    for (Nanoseconds& time : counter.times) time += offset_of(counter.track);
  for (auto& [key, range] : s.steps)
    range.begin += offset_of(key.first), range.end += offset_of(key.first);
}

void StoreBuilder::widen_step(std::uint32_t track, std::int64_t number, Nanoseconds begin,
                              Nanoseconds end) {
  const auto [at, is_new] = state_->steps.try_emplace({track, number}, RawStep{begin, end});
  if (is_new) return;
  at->second.begin = std::min(at->second.begin, begin);
  at->second.end = std::max(at->second.end, end);
}

void StoreBuilder::absorb(StoreBuilder&& other) {
  State &s = *state_, &o = *other.state_;
  const auto first_source = static_cast<std::uint32_t>(s.sources.size());
  const auto first_track = static_cast<std::uint32_t>(s.tracks.size());
  std::vector<OpId> op_map(o.ops.size());
  for (std::size_t i = 0; i < o.ops.size(); ++i)
    op_map[i] =
        op(o.texts.text_of(o.ops[i].name), o.texts.text_of(o.ops[i].category), o.ops[i].shown);
  s.sources.insert(s.sources.end(), o.sources.begin(), o.sources.end());
  s.furthest_offset.insert(s.furthest_offset.end(), o.furthest_offset.begin(),
                           o.furthest_offset.end());
  for (TrackSpec& spec : o.tracks) {
    spec.source += first_source;
    s.tracks.push_back(std::move(spec));
  }
  s.counts.insert(s.counts.end(), o.counts.begin(), o.counts.end());
  const std::size_t first_raw = s.slices;
  for (auto& chunk : o.chunks) {
    for (RawSlice slice : *chunk) {
      slice.track += first_track;
      slice.op_and_offset_high = (slice.op_and_offset_high & 0xFF000000) | op_map[slice.op()];
      s.push(slice);
    }
    chunk.reset();
  }
  for (auto [raw, duration] : o.long_durations)
    s.long_durations.emplace_back(raw + first_raw, duration);
  for (RawInstant instant : o.instants) {
    instant.track += first_track, instant.op = op_map[instant.op];
    s.instants.push_back(instant);
  }
  for (RawFlow flow : o.flows) {
    flow.from += first_track, flow.to += first_track, flow.op = op_map[flow.op];
    s.flows.push_back(flow);
  }
  for (CounterSeries& counter : o.counters) {
    counter.track += first_track;
    s.counter_of[{counter.track, text(counter.name)}] = s.counters.size();
    s.counters.push_back(std::move(counter));
  }
  for (RawCollective collective : o.collectives) {
    collective.raw += first_raw;
    collective.kind = text(o.texts.text_of(collective.kind)),
    collective.group = text(o.texts.text_of(collective.group));
    s.collectives.push_back(collective);
  }
  for (MetadataEntry& entry : o.metadata) {
    entry.source += first_source;
    s.metadata.push_back(std::move(entry));
  }
  for (const auto& [key, range] : o.steps) s.steps[{key.first + first_track, key.second}] = range;
  if (s.origin.empty()) s.origin = o.origin;
  if (o.has_slice && (!s.has_slice || o.latest_end > s.latest_end)) s.latest_end = o.latest_end;
  s.has_slice |= o.has_slice;
  other.state_ = std::make_unique<State>();
}

TracePtr store_of(const Timeline& timeline) {
  StoreBuilder builder;
  builder.set_origin(timeline.origin);
  builder.add_source({});
  for (const Track& track : timeline.tracks) {
    StoreBuilder::TrackSpec spec;
    spec.node = "node " + std::to_string(track.node), spec.node_sort = track.node;
    spec.rank = track.rank, spec.label = track.stream, spec.kind = TrackKind::device_stream;
    spec.pid = std::to_string(track.node), spec.sort = static_cast<std::int64_t>(builder.tracks());
    builder.add_track(std::move(spec));
  }
  const auto op_of = [&](NameId name, Category category) {
    return builder.op(timeline.names.text_of(name), text_of(category), slice_category_of(category));
  };
  for (const Span& span : timeline.spans)
    builder.add_slice(span.track, span.start, span.end - span.start,
                      op_of(span.name, span.category));
  for (const Flow& flow : timeline.flows)
    builder.add_flow(flow.from_track, flow.from, flow.to_track, flow.to,
                     builder.op(timeline.names.text_of(flow.name), "flow", SliceCategory::other));
  return builder.build({});
}
}  // namespace stepcast::trace
