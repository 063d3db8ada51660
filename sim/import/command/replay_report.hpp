#pragma once
#include <string>

#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/what_if.hpp"
#include "sim/io/json_fwd.hpp"

namespace stepcast {
/// Where a step's time goes, mean over steps and ranks.
struct StepSummary {
  double step_s = 0;    // of the slowest rank: what the job waits for
  double window_s = 0;  // of a rank; `owned` sums to it
  Owned owned{};
  /// Part of the step in which the host alone works and the device waits for it.
  double launch_bound_share() const {
    return window_s > 0 ? owned[static_cast<std::size_t>(Owner::host)] / window_s : 0;
  }
};
/// Who sets the pace of such steps, in a sentence.
std::string pace_text(const StepSummary& summary);
StepSummary summary_of(const ReplayResult& result);
/// Base, changed and difference by owner, and what the answer rests on.
std::string difference_text(const std::string& name, const StepSummary& base,
                            const StepSummary& changed, const Change& change);
Json json_of(const StepSummary& summary);

/// How often each rank is the last to reach a collective, and how long the first one waited for it.
struct LateRank {
  int rank = 0;
  int times = 0;
  double cost_s = 0;
};
struct LateRanks {
  int meetings = 0;
  std::vector<LateRank> ranks;
};  // costliest first
LateRanks late_ranks_of(const Workload& workload, const ReplayResult& result);
}  // namespace stepcast
