#include <algorithm>
#include <map>
#include <unordered_map>

#include "sim/core/enum_text.hpp"
#include "sim/timeline/stats/area_scan.hpp"

namespace stepcast::trace {
namespace {
bool is_of_op(GroupBy by) {
  return by == GroupBy::category || by == GroupBy::op || by == GroupBy::name;
}

/// Dense keys of a grouping, by op or by lane, with their labels.
struct Keys {
  std::vector<std::uint32_t> of;  // [op or lane] -> key
  std::vector<std::string> labels;

  Keys(const TraceStore& trace, GroupBy by) {
    if (by == GroupBy::category) {
      for (const Op& op : trace.ops()) of.push_back(static_cast<std::uint32_t>(op.shown));
      for (const std::string& text : enum_texts<SliceCategory>()) labels.push_back(text);
    } else if (by == GroupBy::op) {
      for (OpId op = 0; op < trace.ops().size(); ++op)
        of.push_back(op), labels.emplace_back(trace.text(trace.ops()[op].name));
    } else if (by == GroupBy::name) {
      labels.resize(trace.texts());
      for (const Op& op : trace.ops()) of.push_back(op.name), labels[op.name] = trace.text(op.name);
    } else {
      std::map<std::string, std::uint32_t> streams;
      if (by == GroupBy::rank)
        for (const RankInfo& rank : trace.ranks()) labels.push_back(rank.label);
      if (by == GroupBy::node)
        for (const NodeInfo& node : trace.nodes()) labels.push_back(node.label);
      if (by == GroupBy::track)
        for (const TrackInfo& track : trace.tracks())
          labels.push_back(trace.ranks()[track.rank].label + " / " + track.label);
      for (const LaneInfo& lane : trace.lanes()) {
        const TrackInfo& track = trace.tracks()[lane.track];
        switch (by) {
          case GroupBy::rank:
            of.push_back(track.rank);
            break;
          case GroupBy::node:
            of.push_back(trace.ranks()[track.rank].node);
            break;
          case GroupBy::track:
            of.push_back(lane.track);
            break;
          default: {
            const auto [at, is_new] =
                streams.try_emplace(track.label, static_cast<std::uint32_t>(labels.size()));
            if (is_new) labels.push_back(track.label);
            of.push_back(at->second);
          }
        }
      }
    }
  }
};
struct Sum {
  std::int64_t count = 0;
  Nanoseconds total = 0, most = 0;
};
}  // namespace

Pivot pivot(const TraceStore& trace, const Area& area, GroupBy first, std::optional<GroupBy> second,
            const BoundFilter* filter, std::stop_token stop) {
  const Keys keys(trace, first), keys2(trace, second.value_or(first));
  std::unordered_map<std::uint64_t, Sum> sums;
  std::vector<Sum> by_op(trace.ops().size());
  std::vector<OpId> touched;
  Pivot out;
  double lanes_looked = 0;
  const std::uint32_t* durations = trace.durations().data();
  out.is_complete =
      scan_lanes(trace, area, filter, stop, [&](LaneId lane, SliceId begin, SliceId end) {
        ++lanes_looked;
        const auto add = [&](SliceId s, Nanoseconds time) {
          Sum& sum = by_op[trace.op_id(s)];
          if (sum.count++ == 0) touched.push_back(trace.op_id(s));
          sum.total += time;
          sum.most = std::max(sum.most, time);
        };
        for (SliceId s = begin; s < end; ++s) {
          if (filter != nullptr && !filter->matches_on_passing_lane(s, lane)) continue;
          const bool is_border =
              s == begin ||
              s + 1 == end;  // only these can reach over the window: a lane does not overlap itself
          if (!is_border && durations[s] != TraceStore::kLong)
            add(s, durations[s]);
          else
            add(s, std::min(trace.end(s), area.end) - std::max(trace.start(s), area.begin));
        }
        for (const OpId op : touched) {
          const std::uint32_t key = is_of_op(first) ? keys.of[op] : keys.of[lane];
          const std::uint32_t key2 = !second             ? 0
                                     : is_of_op(*second) ? keys2.of[op]
                                                         : keys2.of[lane];
          Sum &to = sums[std::uint64_t{key} << 32 | key2], &from = by_op[op];
          to.count += from.count, to.total += from.total, to.most = std::max(to.most, from.most);
          from = {};
        }
        touched.clear();
      });
  const double looked =
      lanes_looked * static_cast<double>(std::max<Nanoseconds>(
                         1, std::min(area.end, trace.end()) - std::max(area.begin, trace.begin())));
  for (const auto& [key, sum] : sums) {
    Pivot::Row row;
    row.key = static_cast<std::uint32_t>(key >> 32), row.key2 = static_cast<std::uint32_t>(key);
    row.label = keys.labels[row.key];
    if (second) row.label2 = keys2.labels[row.key2];
    row.count = sum.count, row.total = static_cast<double>(sum.total), row.most = sum.most;
    row.share = looked > 0 ? row.total / looked : 0;
    out.slices += sum.count;
    out.seconds += row.total * 1e-9;
    out.rows.push_back(std::move(row));
  }
  std::sort(out.rows.begin(), out.rows.end(), [](const Pivot::Row& a, const Pivot::Row& b) {
    return a.total != b.total ? a.total > b.total
                              : std::pair(a.key, a.key2) < std::pair(b.key, b.key2);
  });
  return out;
}
}  // namespace stepcast::trace
