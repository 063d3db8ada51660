#include <algorithm>
#include <cctype>
#include <limits>
#include <tuple>

#include "sim/timeline/store/builder_state.hpp"

namespace stepcast::trace {

bool is_natural_less(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      std::size_t i_end = i, j_end = j;
      while (i_end < a.size() && is_digit(a[i_end])) ++i_end;
      while (j_end < b.size() && is_digit(b[j_end])) ++j_end;
      while (i + 1 < i_end && a[i] == '0') ++i;
      while (j + 1 < j_end && b[j] == '0') ++j;
      if (i_end - i != j_end - j) return i_end - i < j_end - j;
      const int order = a.compare(i, i_end - i, b, j, j_end - j);
      if (order != 0) return order < 0;
      i = i_end, j = j_end;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

namespace {
using Spec = StoreBuilder::TrackSpec;
/// Three-way by natural order.
int compare(const std::string& a, const std::string& b) {
  return is_natural_less(a, b) ? -1 : is_natural_less(b, a) ? 1 : a.compare(b);
}
/// Node, then rank or process; 0 when both belong to the same rank.
int compare_rank(const Spec& a, const Spec& b) {
  if (a.node_sort != b.node_sort) return a.node_sort < b.node_sort ? -1 : 1;
  if (const int order = compare(a.node, b.node); order != 0) return order;
  const auto number = [](const Spec& s) {
    return s.rank < 0 ? std::numeric_limits<std::int64_t>::max() : std::int64_t{s.rank};
  };
  if (number(a) != number(b)) return number(a) < number(b) ? -1 : 1;
  if (a.rank >= 0) return 0;
  if (a.rank_sort != b.rank_sort) return a.rank_sort < b.rank_sort ? -1 : 1;
  return compare(a.process_key, b.process_key);
}
int compare_track(const Spec& a, const Spec& b) {
  if (const int order = compare_rank(a, b); order != 0) return order;
  const auto kind = [](const Spec& s) {
    return s.kind == TrackKind::counter ? 3 : static_cast<int>(s.kind);
  };
  if (kind(a) != kind(b)) return kind(a) < kind(b) ? -1 : 1;
  if (a.sort != b.sort) return a.sort < b.sort ? -1 : 1;
  if (const int order = compare(a.label, b.label); order != 0) return order;
  if (const int order = compare(a.pid, b.pid); order != 0) return order;
  return compare(a.tid, b.tid);
}
}  // namespace

TrackOrder order_tracks(const std::vector<Spec>& specs, const std::vector<char>& is_used) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t t = 0; t < specs.size(); ++t)
    if (is_used[t] != 0) order.push_back(t);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return compare_track(specs[a], specs[b]) < 0;
  });
  TrackOrder out;
  out.place.assign(specs.size(), kNoId);
  const Spec* last = nullptr;
  for (const std::uint32_t at : order) {
    const Spec& spec = specs[at];
    if (last == nullptr || compare_rank(*last, spec) != 0) {
      if (last == nullptr || last->node_sort != spec.node_sort || last->node != spec.node)
        out.nodes.push_back({spec.node, static_cast<std::uint32_t>(out.ranks.size()), 0});
      ++out.nodes.back().ranks;
      RankInfo rank;
      rank.rank = spec.rank;
      rank.node = static_cast<std::uint32_t>(out.nodes.size() - 1);
      rank.first_track = static_cast<std::uint32_t>(out.tracks.size());
      rank.label = !spec.rank_label.empty() ? spec.rank_label
                   : spec.rank >= 0         ? "rank " + std::to_string(spec.rank)
                                            : spec.process_key;
      out.ranks.push_back(std::move(rank));
    }
    last = &spec;
    out.place[at] = static_cast<TrackId>(out.tracks.size());
    ++out.ranks.back().tracks;
    TrackInfo track;
    track.rank = static_cast<std::uint32_t>(out.ranks.size() - 1);
    track.source = spec.source, track.kind = spec.kind;
    track.pid = spec.pid, track.tid = spec.tid, track.label = spec.label;
    out.tracks.push_back(std::move(track));
  }
  return out;
}
}  // namespace stepcast::trace
