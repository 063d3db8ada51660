#include "gui/views/row_layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace stepcast::gui {
namespace {
using trace::RankId;
using trace::TraceStore;
using trace::TrackId;
constexpr int kNodeHeight = 22, kRankHeight = 24, kCounterHeight = 40, kDeltaHeight = 20;  // pixels
constexpr std::size_t kLanesOpenAtFirst = 120;  // about two screens of 18 px lanes

/// Gathers rows and sums their heights.
struct Rows {
  RowLayout layout;
  void add(TimelineRow row) {
    row.y = layout.height;
    layout.height += row.height;
    layout.rows.push_back(row);
  }
};

std::multimap<TrackId, std::uint32_t> counters_by_track(const TraceStore& trace) {
  std::multimap<TrackId, std::uint32_t> found;
  for (std::size_t i = 0; i < trace.counters().size(); ++i)
    found.emplace(trace.counters()[i].track, static_cast<std::uint32_t>(i));
  return found;
}
bool has_instants(const TraceStore& trace, TrackId track) {
  const auto& all = trace.instants();
  const auto at = std::lower_bound(all.begin(), all.end(), track,
                                   [](const trace::Instant& i, TrackId t) { return i.track < t; });
  return at != all.end() && at->track == track;
}

struct Builder {
  const TraceStore& trace;
  const RowChoice& choice;
  std::uint8_t side;
  std::multimap<TrackId, std::uint32_t> counters = counters_by_track(trace);

  void add_counters(Rows& rows, TrackId track, std::uint8_t depth) const {
    const auto [first, last] = counters.equal_range(track);
    for (auto it = first; it != last; ++it)
      rows.add({.kind = RowKind::counter,
                .side = side,
                .depth = depth,
                .id = it->second,
                .height = row_height(RowKind::counter, choice.lane_height, 1)});
  }
  void add_track(Rows& rows, TrackId track, std::uint8_t depth) const {
    if (choice.hidden.contains(track)) return;
    const std::uint32_t lanes = trace.tracks()[track].lanes;
    if (lanes > 0 || has_instants(trace, track))
      rows.add({.kind = RowKind::track,
                .side = side,
                .depth = depth,
                .id = track,
                .height = row_height(RowKind::track, choice.lane_height, lanes)});
    add_counters(rows, track, depth);
  }
  void add_rank_head(Rows& rows, RankId rank, std::uint8_t depth, std::uint32_t alike) const {
    rows.add({.kind = RowKind::rank,
              .side = side,
              .depth = depth,
              .is_open = choice.open_ranks.contains(rank),
              .id = rank,
              .alike = alike,
              .height = row_height(RowKind::rank, choice.lane_height, 1)});
  }
  void add_tracks_of(Rows& rows, RankId rank, std::uint8_t depth) const {
    if (!choice.open_ranks.contains(rank)) return;
    const trace::RankInfo& info = trace.ranks()[rank];
    for (TrackId track = info.first_track; track < info.first_track + info.tracks; ++track)
      add_track(rows, track, depth);
  }
};

/// How many ranks each shown rank stands for; 0 = folded away.
std::vector<std::uint32_t> folding(const TraceStore& trace, const RowChoice& choice,
                                   std::span<const RankId> order) {
  std::vector<std::uint32_t> stands_for(trace.ranks().size(), 1);
  if (!choice.folds_alike) return stands_for;
  const auto groups = alike_groups(trace);
  std::map<std::uint32_t, RankId> first;
  for (const RankId rank : order) {
    const auto [it, is_new] = first.emplace(groups[rank], rank);
    if (is_new) continue;
    stands_for[rank] = 0;
    ++stands_for[it->second];
  }
  return stands_for;
}
}  // namespace

int row_height(RowKind kind, int lane_height, std::uint32_t lanes) {
  switch (kind) {
    case RowKind::node:
      return kNodeHeight;
    case RowKind::rank:
      return std::max(kRankHeight, lane_height);
    case RowKind::counter:
      return kCounterHeight;
    case RowKind::delta:
      return kDeltaHeight;
    case RowKind::track:
      return static_cast<int>(std::max(1U, lanes)) * lane_height + 3;
  }
  return lane_height;
}

RowLayout rows_of(const TraceStore& trace, const RowChoice& choice) {
  Rows rows;
  const Builder build{trace, choice, 0};
  std::vector<RankId> order = choice.order;
  const bool has_heads = order.empty() && trace.nodes().size() > 1;
  if (order.empty()) {
    order.resize(trace.ranks().size());
    std::iota(order.begin(), order.end(), 0U);
  }
  const auto stands_for = folding(trace, choice, order);
  std::uint32_t last_node = trace::kNoId;
  for (const RankId rank : order) {
    const std::uint32_t node = trace.ranks()[rank].node;
    if (stands_for[rank] == 0) continue;
    if (has_heads && node != last_node)
      rows.add({.kind = RowKind::node,
                .is_open = !choice.closed_nodes.contains(node),
                .id = node,
                .height = kNodeHeight});
    last_node = node;
    if (has_heads && choice.closed_nodes.contains(node)) continue;
    build.add_rank_head(rows, rank, has_heads ? 1 : 0, stands_for[rank]);
    build.add_tracks_of(rows, rank, has_heads ? 2 : 1);
  }
  return std::move(rows.layout);
}

RowLayout interleaved_rows(const LayoutSide& a, const LayoutSide& b,
                           std::span<const std::pair<RankId, RankId>> ranks) {
  Rows rows;
  const Builder build_a{*a.trace, *a.choice, 0}, build_b{*b.trace, *b.choice, 1};
  for (const auto& [rank_a, rank_b] : ranks) {
    build_a.add_rank_head(rows, rank_a, 0, 1);
    build_b.add_rank_head(rows, rank_b, 0, 1);
    rows.add({.kind = RowKind::delta, .id = rank_a, .height = kDeltaHeight});
    if (!a.choice->open_ranks.contains(rank_a)) continue;
    const trace::RankInfo& in_a = a.trace->ranks()[rank_a];
    const trace::RankInfo& in_b = b.trace->ranks()[rank_b];
    std::set<TrackId> done;
    for (TrackId track = in_a.first_track; track < in_a.first_track + in_a.tracks; ++track) {
      build_a.add_track(rows, track, 1);
      for (TrackId other = in_b.first_track; other < in_b.first_track + in_b.tracks; ++other)
        if (!done.contains(other) &&
            b.trace->tracks()[other].label == a.trace->tracks()[track].label) {
          build_b.add_track(rows, other, 1);
          done.insert(other);
          break;
        }
    }
    for (TrackId other = in_b.first_track; other < in_b.first_track + in_b.tracks; ++other)
      if (!done.contains(other)) build_b.add_track(rows, other, 1);
  }
  // Ranks without a partner stand at the end: listed, not hidden.
  const auto add_rest = [&](const Builder& build, bool is_a) {
    std::set<RankId> matched;
    for (const auto& pair : ranks) matched.insert(is_a ? pair.first : pair.second);
    for (RankId rank = 0; rank < build.trace.ranks().size(); ++rank) {
      if (matched.contains(rank)) continue;
      build.add_rank_head(rows, rank, 0, 1);
      build.add_tracks_of(rows, rank, 1);
    }
  };
  add_rest(build_a, true);
  add_rest(build_b, false);
  return std::move(rows.layout);
}

RowLayout pinned_rows(const TraceStore& trace, const RowChoice& choice) {
  Rows rows;
  RowChoice all = choice;
  all.hidden.clear();
  const Builder build{trace, all, 0};
  for (const TrackId track : choice.pinned)
    if (track < trace.tracks().size()) build.add_track(rows, track, 0);
  return std::move(rows.layout);
}

int RowLayout::row_at(int y) const {
  if (y < 0 || y >= height) return -1;
  const auto after = std::upper_bound(rows.begin(), rows.end(), y,
                                      [](int at, const TimelineRow& row) { return at < row.y; });
  return static_cast<int>(after - rows.begin()) - 1;
}

std::pair<std::size_t, std::size_t> RowLayout::visible(int top, int bottom) const {
  const auto first = std::partition_point(
      rows.begin(), rows.end(), [top](const TimelineRow& r) { return r.bottom() <= top; });
  const auto last = std::partition_point(first, rows.end(),
                                         [bottom](const TimelineRow& r) { return r.y < bottom; });
  return {static_cast<std::size_t>(first - rows.begin()),
          static_cast<std::size_t>(last - rows.begin())};
}

int RowLayout::row_of_track(const TraceStore& trace, TrackId track, int side) const {
  const RankId rank = trace.tracks()[track].rank;
  int nearest = -1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TimelineRow& row = rows[i];
    if (row.side != side) continue;
    if (row.kind == RowKind::track && row.id == track) return static_cast<int>(i);
    if (row.kind == RowKind::rank && row.id == rank) nearest = static_cast<int>(i);
    if (row.kind == RowKind::node && nearest < 0 && row.id == trace.ranks()[rank].node)
      nearest = static_cast<int>(i);
  }
  return nearest;
}

std::vector<std::uint32_t> alike_groups(const TraceStore& trace) {
  std::map<std::vector<std::string>, std::uint32_t> groups;
  std::vector<std::uint32_t> group_of;
  for (const trace::RankInfo& rank : trace.ranks()) {
    std::vector<std::string> shape;
    for (TrackId t = rank.first_track; t < rank.first_track + rank.tracks; ++t) {
      const trace::TrackInfo& track = trace.tracks()[t];
      std::string text = track.label;
      for (trace::LaneId lane = track.first_lane; lane < track.first_lane + track.lanes; ++lane)
        text += ' ' + std::to_string(trace.lanes()[lane].count);
      shape.push_back(std::move(text));
    }
    group_of.push_back(
        groups.emplace(std::move(shape), static_cast<std::uint32_t>(groups.size())).first->second);
  }
  return group_of;
}

std::set<RankId> initially_open(const TraceStore& trace) {
  std::set<RankId> open;
  std::size_t lanes = 0;
  for (RankId rank = 0; rank < trace.ranks().size(); ++rank) {
    const trace::RankInfo& info = trace.ranks()[rank];
    for (TrackId t = info.first_track; t < info.first_track + info.tracks; ++t)
      lanes += std::max(1U, trace.tracks()[t].lanes);
    if (rank > 0 && lanes > kLanesOpenAtFirst) break;
    open.insert(rank);
  }
  return open;
}
}  // namespace stepcast::gui
