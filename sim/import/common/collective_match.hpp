#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/import/common/rank_trace.hpp"

/// The same collective seen by several ranks. A communication kernel runs from its own launch to the end of the collective,
/// so its duration mixes transfer with waiting for the last rank; only the comparison of ranks separates them:
///   rank 0   |======= wait =======|-- transfer --|
///   rank 1                        |-- transfer --|      the last to arrive waits for nobody
namespace stepcast {

struct MatchedCollective {
  struct Member { std::uint32_t trace = 0, event = 0; Nanoseconds start = 0, end = 0; };
  std::optional<Collective> collective;
  std::string group;
  std::int64_t step = 0;
  std::int64_t bytes = 0;
  std::vector<Member> members;   // by trace
  bool is_complete = false;      // every rank of the group was seen
  std::uint32_t last_trace = 0;  // who arrived last
  Nanoseconds last_start = 0;
  Seconds transfer;              // least duration among the members: an upper bound where ranks are missing
  Seconds spread;                // last arrival - first arrival
};

/// Matches by group, step number, kind and order within the step. Ranks whose order of kinds differs are counted and left out.
std::vector<MatchedCollective> match_collectives(std::span<const RankTrace> traces, Anomalies& anomalies);

struct ClockOffset { int rank = 0; Nanoseconds offset = 0, residual = 0; int matches = 0; bool is_applied = false; };
/// Clocks from the ends of matched collectives, which all members see at the same moment: offset = median difference to the first
/// trace, residual = median deviation from it. Shifts a trace only when its offset stands clear of the residual; ranks on one host
/// share a clock and stay untouched.
std::vector<ClockOffset> align_clocks(std::vector<RankTrace>& traces, Anomalies& anomalies);
}  // namespace stepcast
