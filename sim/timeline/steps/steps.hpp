#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::trace {
/// Training steps of every rank.
struct Steps {
  struct Range {
    Nanoseconds begin = 0, end = 0;
    bool is_present = false;
  };
  std::vector<std::int64_t> numbers;  // as the trace counts them, ascending
  std::vector<Range> common;          // by step: earliest begin to latest end over the ranks
  std::vector<Range> by_rank;         // [step * ranks + rank]
  std::size_t ranks = 0;
  std::string how;         // "ProfilerStep", "optimizer ends", "whole trace" ...: shown to the user
  bool is_marked = false;  // false: inferred
  const Range& of(std::size_t step, RankId rank) const { return by_rank[step * ranks + rank]; }
  /// Index of the step of a rank that holds the moment, or -1.
  int step_at(RankId rank, Nanoseconds time) const;
};
/// Marks (ProfilerStep#n, "step n", a name that repeats once a step on every rank: optimizers
/// first), or args.step of the file's own where kept, else one step that is the whole trace.
Steps find_steps(const TraceStore& trace);

/// Step x rank: seconds, and against the median of that step over the ranks. The fastest way to see
/// a straggler.
struct StepMatrix {
  std::size_t steps = 0, ranks = 0;
  std::vector<double> seconds;       // [step * ranks + rank]; NaN where absent
  std::vector<double> busy_seconds;  // without waiting for others: compute, optimizer, launch gaps
  std::vector<double>
      ratio;  // busy against the median over the ranks of the step; 1 = like the others
};
StepMatrix step_matrix(const TraceStore& trace, const Steps& steps);
}  // namespace stepcast::trace
