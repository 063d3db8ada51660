#include "sim/import/common/trace_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace stepcast {
GroupKind group_kind_of(const CollectiveCall& call) {
  std::string text;
  for (const char c : call.group_description)
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (has("tensor") || has("tp")) return GroupKind::tp;
  if (has("expert") || has("ep_") || text == "ep") return GroupKind::ep;
  if (has("pipeline") || has("pp")) return GroupKind::pp;
  if (has("context") || has("cp")) return GroupKind::cp;
  return GroupKind::dp;
}

Category exposed_category(GroupKind kind) {
  switch (kind) {
    case GroupKind::tp:
      return Category::exposed_tp;
    case GroupKind::pp:
      return Category::exposed_pp;
    case GroupKind::ep:
      return Category::exposed_ep;
    case GroupKind::cp:
      return Category::exposed_cp;
    default:
      return Category::exposed_dp;
  }
}

namespace {
Category category_of(const RankTrace& trace, const TraceEvent& e) {
  if (e.kind == EventKind::kernel) return Category::compute;
  if (e.kind != EventKind::collective || e.collective == kNone) return Category::other;
  return exposed_category(group_kind_of(trace.collectives[e.collective]));
}
}  // namespace

Timeline timeline_of(std::span<const RankTrace> traces) {
  Timeline timeline;
  timeline.origin = "measured";
  Nanoseconds zero = std::numeric_limits<Nanoseconds>::max();
  for (const RankTrace& trace : traces)
    if (!trace.events.empty()) zero = std::min(zero, trace.events.front().start);
  for (std::size_t t = 0; t < traces.size(); ++t) {
    const RankTrace& trace = traces[t];
    const int rank = trace.rank >= 0 ? trace.rank : static_cast<int>(t);
    std::vector<std::uint32_t> order(trace.tracks.size());  // device streams first
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
      return trace.tracks[a].is_device > trace.tracks[b].is_device;
    });
    std::vector<std::uint32_t> track_of(trace.tracks.size());
    for (const std::uint32_t i : order) {
      track_of[i] = static_cast<std::uint32_t>(timeline.tracks.size());
      timeline.tracks.push_back({0, rank, trace.tracks[i].label});
    }
    std::vector<NameId> names(trace.names.size());
    for (std::uint32_t i = 0; i < names.size(); ++i)
      names[i] = timeline.names.id_of(trace.names.text_of(i));
    timeline.spans.reserve(timeline.spans.size() + trace.events.size());
    for (const TraceEvent& e : trace.events)
      timeline.spans.push_back({track_of[e.track], names[e.name], category_of(trace, e),
                                e.start - zero, e.end() - zero, -1});
  }
  return timeline;
}
}  // namespace stepcast
