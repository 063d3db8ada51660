#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

#include "sim/core/assert.hpp"
#include "sim/timeline/store/builder_state.hpp"

/// From slices in file order to columns in display order:
///   count by track -> place every slice behind its track's earlier ones -> sort each track where
///   it is not sorted -> lanes
namespace stepcast::trace {
namespace {
/// Uninitialised memory that becomes a Column: pages are touched once, by the slices themselves.
template <class T>
struct Array {
  std::shared_ptr<T[]> data;
  std::size_t size = 0;
  explicit Array(std::size_t n) : data(huge_array<T>(n)), size(n) {}
  T& operator[](std::size_t i) { return data[i]; }
  Column<T> column() const { return Column<T>(std::span<const T>(data.get(), size), data); }
};

struct Arrays {
  explicit Arrays(std::size_t slices, bool has_high)
      : start(slices),
        duration(slices),
        source(slices),
        op_low(slices),
        op_high(has_high ? slices : 0) {}
  Array<Nanoseconds> start;
  Array<std::uint32_t> duration, source;
  Array<std::uint16_t> op_low;
  Array<std::uint8_t> op_high;
  void put(std::size_t at, Nanoseconds start_time, std::uint32_t length, OpId op,
           std::uint32_t offset) {
    start[at] = start_time, duration[at] = length, source[at] = offset,
    op_low[at] = static_cast<std::uint16_t>(op);
    if (op_high.size > 0) op_high[at] = static_cast<std::uint8_t>(op >> 16);
  }
  OpId op(std::size_t at) { return op_low[at] | (op_high.size > 0 ? OpId{op_high[at]} << 16 : 0U); }
};

/// Threads that a file names without putting anything on them take no row.
std::vector<char> used_tracks(const StoreBuilder::State& s) {
  std::vector<char> is_used(s.tracks.size(), 0);
  for (std::size_t t = 0; t < s.tracks.size(); ++t) is_used[t] = s.counts[t] > 0;
  for (const RawInstant& instant : s.instants) is_used[instant.track] = 1;
  for (const CounterSeries& series : s.counters) is_used[series.track] = 1;
  for (const RawFlow& flow : s.flows) is_used[flow.from] = is_used[flow.to] = 1;
  return is_used;
}

class Builder {
 public:
  Builder(StoreBuilder::State& state, const StoreBuilder::BuildOptions& options,
          std::stop_token stop)
      : s_(state),
        options_(options),
        stop_(std::move(stop)),
        order_(order_tracks(state.tracks, used_tracks(state))),
        arrays_(state.slices, state.ops.size() * 2 > 65536) {}

  /// Null when stopped.
  TracePtr build() {
    scatter();
    if (!stop_.stop_requested()) lay_out_tracks();
    if (stop_.stop_requested()) return nullptr;
    finish_lists();
    if (options_.mark_overlapped && !stop_.stop_requested()) mark_overlapped();
    return std::make_shared<const TraceStore>(std::move(parts_));
  }

 private:
  void scatter() {
    parts_.sources = s_.sources;
    for (std::size_t i = 0; i < s_.sources.size(); ++i)
      parts_.sources[i].offset_shift = static_cast<std::uint8_t>(
          std::max(0, static_cast<int>(std::bit_width(s_.furthest_offset[i])) - 32));
    first_.assign(order_.tracks.size() + 1, 0);
    for (std::size_t t = 0; t < s_.tracks.size(); ++t)
      if (order_.place[t] != kNoId) first_[order_.place[t] + 1] = s_.counts[t];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    placed_long_.reserve(s_.long_durations.size());
    collective_at_.reserve(s_.collectives.size());
    std::size_t raw_index = 0, long_index = 0, collective_index = 0;
    for (auto& chunk : s_.chunks) {
      if (stop_.stop_requested()) return;
      for (const RawSlice& raw : *chunk) {
        const TrackId track = order_.place[raw.track];
        const std::uint32_t at = next[track]++;
        arrays_.put(at, raw.start, raw.duration, raw.op(),
                    static_cast<std::uint32_t>(raw.offset() >> shift_of(track)));
        if (raw.duration == TraceStore::kLong)
          placed_long_.emplace_back(at, s_.long_durations[long_index++].second);
        for (; collective_index < s_.collectives.size() &&
               s_.collectives[collective_index].raw == raw_index;
             ++collective_index)
          collective_at_.push_back(at);
        ++raw_index;
      }
      if (!options_.keep) chunk.reset();
    }
    std::sort(placed_long_.begin(), placed_long_.end());
  }
  int shift_of(TrackId track) const {
    const std::uint32_t source = order_.tracks[track].source;
    return source < parts_.sources.size() ? parts_.sources[source].offset_shift : 0;
  }

  void lay_out_tracks() {
    std::vector<std::vector<std::uint32_t>> collectives_of(order_.tracks.size());
    for (std::uint32_t i = 0; i < collective_at_.size(); ++i) {
      const auto track =
          std::upper_bound(first_.begin(), first_.end(), collective_at_[i]) - first_.begin() - 1;
      collectives_of[static_cast<std::size_t>(track)].push_back(i);
    }
    auto next_long = placed_long_.begin();
    for (TrackId track = 0; track < order_.tracks.size(); ++track) {
      const std::uint32_t begin = first_[track], end = first_[track + 1];
      TrackInfo& info = order_.tracks[track];
      info.first_lane = static_cast<std::uint32_t>(parts_.lanes.size());
      if (begin == end) continue;
      if (stop_.stop_requested()) return;
      const auto last_long =
          std::lower_bound(next_long, placed_long_.end(), std::pair<SliceId, Nanoseconds>{end, 0});
      if (is_one_lane(begin, end, next_long, last_long)) {
        parts_.long_durations.insert(parts_.long_durations.end(), next_long, last_long);
        parts_.lanes.push_back({begin, end - begin, track});
      } else {
        lay_out(track, begin, end, next_long, collectives_of[track]);
      }
      next_long = last_long;
      info.lanes = static_cast<std::uint32_t>(parts_.lanes.size()) - info.first_lane;
    }
  }
  using LongAt = std::vector<std::pair<SliceId, Nanoseconds>>::const_iterator;
  Nanoseconds duration_at(std::uint32_t at, LongAt& next_long) {
    return arrays_.duration[at] == TraceStore::kLong ? (next_long++)->second
                                                     : Nanoseconds{arrays_.duration[at]};
  }
  /// Sorted and free of overlaps as it is: nothing to move.
  bool is_one_lane(std::uint32_t begin, std::uint32_t end, LongAt next_long, LongAt) {
    Nanoseconds busy_until = arrays_.start[begin];
    for (std::uint32_t at = begin; at < end; ++at) {
      if (arrays_.start[at] < busy_until) return false;
      busy_until = arrays_.start[at] + duration_at(at, next_long);
    }
    return true;
  }
  void lay_out(TrackId track, std::uint32_t begin, std::uint32_t end, LongAt next_long,
               const std::vector<std::uint32_t>& collectives) {
    rows_.clear();
    for (std::uint32_t at = begin; at < end; ++at)
      rows_.push_back(
          {arrays_.start[at], duration_at(at, next_long), arrays_.op(at), arrays_.source[at], at});
    const auto is_before = [](const TrackRow& a, const TrackRow& b) {
      return a.start != b.start ? a.start < b.start : a.duration > b.duration;
    };
    if (!std::is_sorted(rows_.begin(), rows_.end(), is_before))
      std::stable_sort(rows_.begin(), rows_.end(), is_before);
    const std::uint32_t lanes = assign_lanes(rows_, lanes_);
    std::vector<std::uint32_t> next(lanes + 1, 0);
    for (const std::uint32_t lane : lanes_) ++next[lane + 1];
    next[0] = begin;
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      parts_.lanes.push_back({next[lane], next[lane + 1] - next[lane], track});
    const bool has_collectives = !collectives.empty();
    if (has_collectives) moved_.resize(end - begin);
    const std::size_t first_long = parts_.long_durations.size();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const TrackRow& row = rows_[i];
      const std::uint32_t at = next[lanes_[i]]++;
      const bool is_long = row.duration >= Nanoseconds{TraceStore::kLong};
      arrays_.put(at, row.start,
                  is_long ? TraceStore::kLong : static_cast<std::uint32_t>(row.duration), row.op,
                  row.source);
      if (is_long) parts_.long_durations.emplace_back(at, row.duration);
      if (has_collectives) moved_[row.from - begin] = at;
    }
    std::sort(parts_.long_durations.begin() + static_cast<std::ptrdiff_t>(first_long),
              parts_.long_durations.end());
    for (const std::uint32_t i : collectives) collective_at_[i] = moved_[collective_at_[i] - begin];
  }

  void finish_lists() {
    parts_.ops = s_.ops;
    for (std::uint32_t i = 0; i < s_.texts.size(); ++i) parts_.texts.push_back(s_.texts.text_of(i));
    parts_.tracks = std::move(order_.tracks), parts_.ranks = std::move(order_.ranks),
    parts_.nodes = std::move(order_.nodes);
    parts_.start = arrays_.start.column(), parts_.duration = arrays_.duration.column();
    parts_.op_low = arrays_.op_low.column(), parts_.op_high = arrays_.op_high.column();
    parts_.source = arrays_.source.column();
    parts_.metadata = s_.metadata, parts_.origin = s_.origin;
    std::vector<CollectiveSlice> collectives;
    for (std::size_t i = 0; i < s_.collectives.size(); ++i) {
      const RawCollective& raw = s_.collectives[i];
      collectives.push_back({collective_at_[i], raw.kind, raw.group, raw.group_size, raw.bytes});
    }
    std::sort(collectives.begin(), collectives.end(),
              [](const auto& a, const auto& b) { return a.slice < b.slice; });
    parts_.collectives = Column<CollectiveSlice>(std::move(collectives));

    std::vector<Instant> instants;
    for (const RawInstant& raw : s_.instants) {
      const TrackId track = order_.place[raw.track];
      const std::uint32_t source = parts_.tracks[track].source;
      const int shift = source < parts_.sources.size() ? parts_.sources[source].offset_shift : 0;
      instants.push_back(
          {raw.time, track, raw.op, static_cast<std::uint32_t>(raw.offset >> shift)});
    }
    std::stable_sort(instants.begin(), instants.end(), [](const Instant& a, const Instant& b) {
      return std::pair(a.track, a.time) < std::pair(b.track, b.time);
    });
    parts_.instants = Column<Instant>(std::move(instants));
    finish_counters();
    finish_steps();
    find_extent();
    // Slices are bound through the store's own searches, which need the columns above.
    TraceStore searchable(std::move(parts_));
    parts_ = searchable.parts();
    bind_flows(searchable);
  }
  void finish_counters() {
    parts_.counters = options_.keep ? s_.counters : std::move(s_.counters);
    for (CounterSeries& series : parts_.counters) {
      series.track = order_.place[series.track];
      if (!std::is_sorted(series.times.begin(), series.times.end())) {
        std::vector<std::uint32_t> order(series.times.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
          return series.times[a] < series.times[b];
        });
        CounterSeries sorted = series;
        for (std::size_t i = 0; i < order.size(); ++i)
          sorted.times[i] = series.times[order[i]], sorted.values[i] = series.values[order[i]];
        series = std::move(sorted);
      }
      const auto [least, most] = std::minmax_element(series.values.begin(), series.values.end());
      series.least = *least, series.most = *most;
    }
    std::stable_sort(parts_.counters.begin(), parts_.counters.end(),
                     [](const auto& a, const auto& b) { return a.track < b.track; });
  }
  void finish_steps() {
    std::map<std::pair<std::int64_t, RankId>, RawStep> by_rank;
    for (const auto& [key, range] : s_.steps) {
      const auto [at, is_new] =
          by_rank.try_emplace({key.second, parts_.tracks[order_.place[key.first]].rank}, range);
      if (!is_new)
        at->second = {std::min(at->second.begin, range.begin), std::max(at->second.end, range.end)};
    }
    for (const auto& [key, range] : by_rank)
      parts_.stated_steps.push_back({key.second, key.first, range.begin, range.end});
  }
  void find_extent() {
    bool is_first = true;
    const auto include = [&](Nanoseconds begin, Nanoseconds end) {
      parts_.begin = is_first ? begin : std::min(parts_.begin, begin);
      parts_.end = is_first ? end : std::max(parts_.end, end);
      is_first = false;
    };
    auto next_long = parts_.long_durations.begin();
    for (const LaneInfo& lane : parts_.lanes)
      include(parts_.start[lane.first], parts_.start[lane.first]);
    for (std::size_t i = 0; i < parts_.start.size();
         ++i) {  // ends grow within a lane, but one pass is as fast
      const std::uint32_t d = parts_.duration[i];
      parts_.end = std::max(
          parts_.end,
          parts_.start[i] + (d == TraceStore::kLong ? (next_long++)->second : Nanoseconds{d}));
    }
    for (const Instant& instant : parts_.instants) include(instant.time, instant.time);
    for (const CounterSeries& series : parts_.counters)
      include(series.times.front(), series.times.back());
  }
  void bind_flows(const TraceStore& store) {
    std::vector<FlowArrow> flows;
    flows.reserve(s_.flows.size());
    for (const RawFlow& raw : s_.flows) {
      FlowArrow flow;
      flow.from_time = raw.from_time, flow.to_time = raw.to_time, flow.op = raw.op;
      flow.from_track = order_.place[raw.from], flow.to_track = order_.place[raw.to];
      flow.from = enclosing(store, flow.from_track, raw.from_time);
      flow.to = enclosing(store, flow.to_track, raw.to_time);
      if (flow.to == kNoId && raw.to_next) flow.to = next_on(store, flow.to_track, raw.to_time);
      flows.push_back(flow);
    }
    std::stable_sort(flows.begin(), flows.end(),
                     [](const FlowArrow& a, const FlowArrow& b) { return a.from < b.from; });
    std::vector<std::uint32_t> by_target(flows.size());
    std::iota(by_target.begin(), by_target.end(), 0U);
    std::stable_sort(by_target.begin(), by_target.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return flows[a].to < flows[b].to; });
    parts_.flows = Column<FlowArrow>(std::move(flows));
    parts_.flows_by_target = Column<std::uint32_t>(std::move(by_target));
  }
  /// The innermost slice that holds the moment, else one that ends exactly there.
  static SliceId enclosing(const TraceStore& store, TrackId track, Nanoseconds time) {
    if (const SliceId s = store.slice_on_track_at(track, time); s != kNoId) return s;
    const SliceId before = store.slice_on_track_at(track, time - 1);
    return before != kNoId && store.end(before) == time ? before : kNoId;
  }
  static SliceId next_on(const TraceStore& store, TrackId track, Nanoseconds time) {
    const TrackInfo& t = store.tracks()[track];
    SliceId best = kNoId;
    for (LaneId lane = t.first_lane; lane < t.first_lane + t.lanes; ++lane) {
      const LaneInfo& l = store.lanes()[lane];
      const SliceId at = store.first_starting_at(lane, time);
      if (at < l.first + l.count && (best == kNoId || store.start(at) < store.start(best)))
        best = at;
    }
    return best;
  }

  /// Twins of the ops concerned: same name and file category, shown as overlapped.
  void mark_overlapped() {
    const std::vector<SliceId> slices = overlapped_slices(parts_, stop_);
    if (slices.empty()) return;
    std::vector<OpId> twin(parts_.ops.size(), kNoId);
    for (const SliceId slice : slices) {
      const OpId op = arrays_.op(slice);
      if (twin[op] == kNoId) {
        twin[op] = static_cast<OpId>(parts_.ops.size());
        Op copy = parts_.ops[op];
        copy.shown = SliceCategory::overlapped;
        parts_.ops.push_back(copy);
      }
      arrays_.op_low[slice] = static_cast<std::uint16_t>(twin[op]);
      if (arrays_.op_high.size > 0)
        arrays_.op_high[slice] = static_cast<std::uint8_t>(twin[op] >> 16);
    }
  }

  StoreBuilder::State& s_;
  const StoreBuilder::BuildOptions& options_;
  std::stop_token stop_;
  TrackOrder order_;
  Arrays arrays_;
  TraceStore::Parts parts_;
  std::vector<std::uint32_t> first_;  // by track, one more
  std::vector<std::pair<SliceId, Nanoseconds>> placed_long_;
  std::vector<SliceId> collective_at_;  // by RawCollective
  std::vector<TrackRow> rows_;
  std::vector<std::uint32_t> lanes_, moved_;
};
}  // namespace

TracePtr StoreBuilder::build(const BuildOptions& options, std::stop_token stop) {
  STEPCAST_ASSERT(state_->slices < kNoId, "the reader stops at 4 billion slices");
  TracePtr store = Builder(*state_, options, std::move(stop)).build();
  if (!options.keep) state_ = std::make_unique<State>(), state_->texts.id_of("");
  return store;
}
}  // namespace stepcast::trace
