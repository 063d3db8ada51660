#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "sim/core/robust_stats.hpp"
#include "sim/timeline/lod/cell_sums.hpp"
#include "sim/timeline/stats/ranks.hpp"

namespace stepcast::trace {
namespace {
/// Ranks that compute the same ops are peers: stages of a pipeline differ in their work, and that
/// is no straggling.
std::vector<std::uint32_t> peer_groups(const TraceStore& trace, const std::vector<LodRow>& rows) {
  constexpr SliceId kLook = 4000;  // slices a lane: a step's worth of ops
  std::map<std::set<std::uint32_t>, std::vector<RankId>> by_ops;
  for (RankId rank = 0; rank < rows.size(); ++rank) {
    std::set<std::uint32_t> names;
    for (const LaneId lane : rows[rank].lanes) {
      const LaneInfo& l = trace.lanes()[lane];
      std::uint32_t last = kNoId;
      for (SliceId s = l.first; s < l.first + std::min(l.count, kLook); ++s) {
        const Op& op = trace.op(s);
        if (is_computing(op.shown) && op.name != last) names.insert(last = op.name);
      }
    }
    by_ops[names].push_back(rank);
  }
  std::vector<std::uint32_t> group(rows.size(), 0);
  std::uint32_t next = 1;
  for (const auto& [names, ranks] : by_ops) {
    if (ranks.size() < 3)
      continue;  // too few to say what is normal: they are compared with everybody
    for (const RankId rank : ranks) group[rank] = next;
    ++next;
  }
  return group;
}

std::vector<double> straggler_scores(const TraceStore& trace, const std::vector<LodRow>& rows,
                                     const StepMatrix& matrix) {
  const auto group = peer_groups(trace, rows);
  std::vector<std::vector<double>> ratios(rows.size());
  for (std::size_t step = 0; step < matrix.steps; ++step) {
    std::map<std::uint32_t, std::vector<double>> busy;
    const auto of = [&](RankId rank) { return matrix.busy_seconds[step * matrix.ranks + rank]; };
    for (RankId rank = 0; rank < rows.size(); ++rank) {
      if (std::isnan(of(rank))) continue;
      busy[group[rank]].push_back(of(rank));
      if (group[rank] != 0) busy[0].push_back(of(rank));
    }
    std::map<std::uint32_t, double> typical;
    for (const auto& [id, values] : busy) typical[id] = median(values);
    for (RankId rank = 0; rank < rows.size(); ++rank)
      if (!std::isnan(of(rank)) && typical[group[rank]] > 0)
        ratios[rank].push_back(of(rank) / typical[group[rank]]);
  }
  std::vector<double> scores;
  for (const auto& list : ratios) scores.push_back(list.empty() ? 0 : median(list) - 1);
  return scores;
}
}  // namespace

std::vector<RankStatistics> rank_statistics(const TraceStore& trace, const Area& area,
                                            const Steps& steps, const StepMatrix& matrix,
                                            const std::vector<CollectiveRun>& runs,
                                            std::stop_token stop) {
  const auto states = state_categories(trace);
  const auto rows = state_rows(trace);
  std::vector<RankStatistics> table(rows.size());
  const Nanoseconds begin = std::max(area.begin, trace.begin()),
                    end = std::max(begin, std::min(area.end, trace.end()));
  for (RankId rank = 0; rank < rows.size() && !stop.stop_requested(); ++rank) {
    RankStatistics& r = table[rank];
    r.rank = rank, r.window = static_cast<double>(end - begin) * 1e-9;
    const auto times = state_times(trace, states, rows[rank], begin, end);
    Nanoseconds sum = 0;
    for (std::size_t c = 0; c < times.size(); ++c) {
      r.seconds[c] = static_cast<double>(times[c]) * 1e-9;
      sum += times[c];
      if (is_communication(static_cast<SliceCategory>(c)) ||
          static_cast<SliceCategory>(c) == SliceCategory::straggler_wait)
        r.exposed += r.seconds[c];
    }
    r.idle = static_cast<double>(end - begin - sum) * 1e-9;
    int count = 0;
    for (std::size_t step = 0; step < steps.numbers.size(); ++step) {
      const Steps::Range& range = steps.of(step, rank);
      if (!range.is_present || range.end <= begin || range.begin >= end) continue;
      r.mean_step += static_cast<double>(range.end - range.begin) * 1e-9;
      ++count;
    }
    if (count > 0) r.mean_step /= count;
  }
  for (const CollectiveRun& run : runs) {
    if (run.members.size() < 2 || run.end <= begin || run.first_arrival >= end) continue;
    double caused = 0;
    for (const SliceId s : run.members) {
      const double waited = static_cast<double>(run.last_arrival - arrival_of(trace, s)) * 1e-9;
      table[trace.rank_of(s)].waited += waited;
      caused += waited;
    }
    table[run.last_rank].caused_wait += caused;
    if (run.skew() > 0) ++table[run.last_rank].last_arrivals;
  }
  if (!stop.stop_requested()) {
    const auto scores = straggler_scores(trace, rows, matrix);
    for (RankId rank = 0; rank < table.size(); ++rank) table[rank].straggler_score = scores[rank];
  }
  return table;
}

std::vector<RankId> ranks_by_slowness(const std::vector<RankStatistics>& statistics) {
  std::vector<RankId> order(statistics.size());
  std::iota(order.begin(), order.end(), RankId{0});
  std::stable_sort(order.begin(), order.end(), [&](RankId a, RankId b) {
    if (statistics[a].straggler_score != statistics[b].straggler_score)
      return statistics[a].straggler_score > statistics[b].straggler_score;
    return statistics[a].caused_wait > statistics[b].caused_wait;
  });
  return order;
}

std::vector<RankId> stragglers(const std::vector<RankStatistics>& statistics) {
  std::vector<RankId> slow = ranks_by_slowness(statistics);
  std::erase_if(slow,
                [&](RankId rank) { return statistics[rank].straggler_score <= kStragglerScore; });
  return slow;
}

std::vector<double> rank_heat(const std::vector<RankStatistics>& statistics, Heat heat) {
  std::vector<double> values;
  for (const RankStatistics& r : statistics) {
    switch (heat) {
      case Heat::exposed_communication:
        values.push_back(r.exposed);
        break;
      case Heat::straggler_wait:
        values.push_back(
            std::max(r.waited, r.seconds[static_cast<std::size_t>(SliceCategory::straggler_wait)]));
        break;
      case Heat::bubble:
        values.push_back(r.seconds[static_cast<std::size_t>(SliceCategory::bubble)]);
        break;
      case Heat::busy:
        values.push_back(r.window - r.idle);
        break;
      case Heat::straggler_score:
        values.push_back(std::max(0.0, r.straggler_score));
        break;
    }
  }
  const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  if (most > 0)
    for (double& value : values) value /= most;
  return values;
}
}  // namespace stepcast::trace
