#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/import/common/rank_trace.hpp"

/// The same collective seen by several ranks. A communication kernel runs from its own launch to
/// the end of the collective, so its duration mixes transfer with waiting for the last rank; only
/// the comparison of ranks separates them:
///   rank 0   |======= wait =======|-- transfer --|
///   rank 1                        |-- transfer --|      the last to arrive waits for nobody
namespace stepcast {

struct MatchedCollective {
  struct Member {
    std::uint32_t trace = 0, event = 0;
    Nanoseconds start = 0, end = 0;
  };
  std::optional<Collective> collective;
  std::string group;
  std::int64_t step = 0;
  std::int64_t bytes = 0;
  std::vector<Member> members;   // by trace
  bool is_complete = false;      // every rank of the group was seen
  std::uint32_t last_trace = 0;  // who arrived last
  Nanoseconds last_start = 0;
  Seconds transfer;  // least duration among the members: an upper bound where ranks are missing
  Seconds spread;    // last arrival - first arrival
};

/// One communication event with what it is matched by.
struct CommunicationEvent {
  std::uint32_t event = 0;
  std::int64_t bytes = 0;
  Nanoseconds start = 0, end = 0;
};
/// Group with its members, step number (0 where steps are inferred: two ranks may cut differently),
/// kind. Kinds stand apart: several streams or communicators may interleave differently on each
/// rank.
using MatchKey = std::tuple<std::string, std::int64_t, int>;
std::map<MatchKey, std::vector<CommunicationEvent>> communication_of(const RankTrace& trace,
                                                                     bool are_steps_shared);
/// Name under which a call's group is told from others of the same name ("2" = my tensor-parallel
/// group): the members say it.
std::string group_key(const RankTrace& trace, const CollectiveCall& call);

/// Matches by group, step number and kind. Within these by order where every rank lists the same
/// sequence and each pair overlaps in time; otherwise (a thinned or cut trace) by the moment at
/// which all members end. What meets nobody is counted.
std::vector<MatchedCollective> match_collectives(std::span<const RankTrace> traces,
                                                 Anomalies& anomalies);

struct ClockOffset {
  int rank = 0;
  Nanoseconds offset = 0, residual = 0;
  int matches = 0;
  bool is_applied = false;
};
/// Clocks from the ends of collectives, which all members see at the same moment. The offset of a
/// trace to those already placed is the difference of ends that most pairs of like collectives
/// (group, kind, bytes) agree on; residual = median deviation from it. No difference at all wins
/// where it explains nearly as many pairs: ranks on one host share a clock and stay untouched.
std::vector<ClockOffset> align_clocks(std::vector<RankTrace>& traces, Anomalies& anomalies);
}  // namespace stepcast
