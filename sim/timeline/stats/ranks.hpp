#pragma once
#include <array>
#include <vector>

#include "sim/timeline/stats/collectives.hpp"
#include "sim/timeline/stats/op_statistics.hpp"
#include "sim/timeline/steps/steps.hpp"

namespace stepcast::trace {
/// One rank over a window. Seconds; categories by state_priority, so that they and idle add up to
/// the window.
struct RankStatistics {
  RankId rank = 0;
  std::array<double, kSliceCategories> seconds{};
  double idle = 0, window = 0;
  double exposed = 0;      // communication without compute, waiting for others included
  double waited = 0;       // for the last arrival, over its collectives
  double caused_wait = 0;  // the others' waiting for this rank, where it arrived last
  std::int64_t last_arrivals = 0;
  double mean_step = 0;  // seconds
  /// How much longer than its peers the rank works between synchronisations: median over steps of
  /// busy time against the median rank (0.30 = 30 % slower). Without steps: over the whole window.
  double straggler_score = 0;
};
/// `matrix` is the step_matrix of these steps; scores come from it and do not depend on the area.
std::vector<RankStatistics> rank_statistics(const TraceStore& trace, const Area& area,
                                            const Steps& steps, const StepMatrix& matrix,
                                            const std::vector<CollectiveRun>& runs,
                                            std::stop_token stop = {});
/// Rank ids, slowest first, for ordering the overview.
std::vector<RankId> ranks_by_slowness(const std::vector<RankStatistics>& statistics);
/// Ranks at least one in twenty slower than their peers, above the few percent that jitter makes;
/// slowest first.
std::vector<RankId> stragglers(const std::vector<RankStatistics>& statistics);
inline constexpr double kStragglerScore = 0.05;
/// A value per rank for heat colours, in 0..1 of the largest.
enum class Heat : std::uint8_t {
  exposed_communication,
  straggler_wait,
  bubble,
  busy,
  straggler_score
};
std::vector<double> rank_heat(const std::vector<RankStatistics>& statistics, Heat heat);
}  // namespace stepcast::trace
