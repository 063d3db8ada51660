#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/timeline/steps/steps.hpp"
#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::trace {
/// One collective as all its ranks saw it. A member's slice runs from its own arrival to the common
/// end:
///   rank 0   |======= wait =======|-- transfer --|
///   rank 1                        |-- transfer --|      the last to arrive waits for nobody
struct CollectiveRun {
  std::string kind;        // "all_reduce", or the op's name where nothing says more
  std::string group;       // as stated; "" = inferred
  OpId op = 0;             // of the first member
  std::int64_t step = -1;  // see number_steps
  std::int64_t bytes = 0;  // S of nccl-tests; 0 = not stated
  std::uint32_t group_size = 0;
  std::vector<SliceId> members;  // by rank
  RankId last_rank = 0;          // arrived last
  Nanoseconds first_arrival = 0, last_arrival = 0, end = 0;
  Nanoseconds skew() const { return last_arrival - first_arrival; }
  Nanoseconds transfer() const { return end - last_arrival; }
  double busbw_GBps = 0;  // nccl-tests' correction factor; 0 where bytes or kind are unknown
  bool is_complete = false;
};
/// Matches by stated group and order where the trace tells them, else by name and common end (ends
/// within `tolerance`; a simulated collective ends at the same nanosecond everywhere).
std::vector<CollectiveRun> collective_runs(const TraceStore& trace, Nanoseconds tolerance = 20'000);
/// Fills `step` (the number the trace counts), from the first member.
void number_steps(std::vector<CollectiveRun>& runs, const TraceStore& trace, const Steps& steps);

/// When the member reached the collective: a simulated one waits in a slice of its own, in front of
/// the transfer and with the same name.
Nanoseconds arrival_of(const TraceStore& trace, SliceId member);

/// Sums over the groups of a family ("dp" of "dp: rank 0") and over equal kinds.
struct CollectiveTotals {
  std::string kind, group;
  std::int64_t runs = 0, bytes = 0;
  double skew_seconds = 0, transfer_seconds = 0, mean_busbw_GBps = 0;
  RankId worst_rank = 0;  // last to arrive most often
  std::int64_t worst_rank_runs = 0;
};
std::vector<CollectiveTotals> collective_totals(const TraceStore& trace,
                                                const std::vector<CollectiveRun>& runs);

/// Bytes and messages between ranks: arrows between ranks, and collectives spread over a ring in
/// rank order. Row-major ranks x ranks; refuses nothing, so ask for few thousand ranks at most (8
/// 192 ranks take 1 GiB).
struct CommunicationMatrix {
  std::size_t ranks = 0;
  std::vector<double> bytes;
  std::vector<std::int64_t> messages;
};
CommunicationMatrix communication_matrix(const TraceStore& trace,
                                         const std::vector<CollectiveRun>& runs);
}  // namespace stepcast::trace
