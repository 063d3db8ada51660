#include "sim/timeline/match/match.hpp"

namespace stepcast::trace {
bool is_op_by_op(const TraceStore& trace, RankId id) {
  const RankInfo& rank = trace.ranks()[id];
  for (TrackId t = rank.first_track; t < rank.first_track + rank.tracks; ++t)
    if (trace.tracks()[t].kind == TrackKind::device_stream && trace.tracks()[t].lanes > 1)
      return true;
  return false;
}

CommonDetail common_detail(const TraceStore& a, const TraceStore& b, const Match& match) {
  CommonDetail common;
  // A measured kernel has nothing around it: such ranks have one level whatever they hold.
  if (a.origin() != "simulated" || b.origin() != "simulated") return common;
  int detailed = 0;
  for (const TraceStore* trace : {&a, &b})
    for (RankId rank = 0; rank < trace->ranks().size(); ++rank)
      detailed += is_op_by_op(*trace, rank) ? 1 : 0;
  if (match.ranks.empty() || detailed == 0 ||
      detailed == static_cast<int>(a.ranks().size() + b.ranks().size()))
    return common;
  common.is_counted_a.assign(a.ranks().size(), 0);
  common.is_counted_b.assign(b.ranks().size(), 0);
  const auto count = [&](const std::pair<RankId, RankId>& pair) {
    common.is_counted_a[pair.first] = common.is_counted_b[pair.second] = 1;
    ++common.ranks;
  };
  for (const auto& pair : match.ranks)
    if (is_op_by_op(a, pair.first) && is_op_by_op(b, pair.second)) count(pair);
  if (common.ranks > 0) return common;
  common.counts_passes = true;
  for (const auto& pair : match.ranks) count(pair);
  return common;
}

bool is_outermost(const TraceStore& trace, LaneId lane) {
  return lane == trace.tracks()[trace.lanes()[lane].track].first_lane;
}
}  // namespace stepcast::trace
