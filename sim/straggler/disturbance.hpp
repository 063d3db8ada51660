#pragma once
#include <cstdint>
#include <vector>

#include "sim/scenario/straggler_spec.hpp"

/// How the causes of a scenario unfold in time on one lockstep block. Everything is a pure function
/// of (seed, rank, step, op, moment): the same draw serves a run with and without a cause, so that
/// a difference of two runs is the cause's doing.
namespace stepcast {

/// The moment of a pass: which run (seed), step and op, and when it starts in seconds since the run
/// began.
struct Moment {
  std::uint64_t seed = 1;
  int step = 0;
  std::uint64_t op = 0;
  double time_s = 0;
};

/// One rank of a block and the causes that name it (indices into Disturbance::causes).
struct DisturbedRank {
  int rank = 0;
  std::vector<std::uint32_t> causes;
};

struct Disturbance {
  std::vector<StragglerSpec> causes;  // those that vary or that are drawn once per run
  std::vector<DisturbedRank> ranks;

  bool empty() const { return ranks.empty(); }
  /// Time over undisturbed time of a pass of `work_s` that starts at `moment`; the block goes at
  /// its slowest rank.
  ///   speed(t) = 1 / (jitter * drift(t) * bursts(t) * spells(t));  a periodic pause by time is a
  ///   spell of speed 0
  double stretch(const Moment& moment, double work_s) const;
  /// Pauses that recur by steps and hit this one: the longest of a rank's sum.
  double pause_s(std::uint64_t seed, int step) const;
};

/// The part of a disturbance that holds for the whole run: jitter drawn once per rank.
double lasting_slowdown(const Disturbance& disturbance, std::uint64_t seed);

/// One draw of a jitter; `key` tells draws apart. At least 0; lognormal has mean 1.
double jitter_factor(const JitterSpec& jitter, std::uint64_t key);

/// Intervals of a Poisson process of bursts on one rank that touch [from, to), ascending; they may
/// overlap.
std::vector<std::pair<double, double>> bursts_between(const BurstSpec& burst, std::uint64_t key,
                                                      double from, double to);

/// Factor on the rate of a node's ports in a step.
double link_factor(const SlowLinkSpec& link, std::uint64_t seed, std::uint64_t node, int step);
}  // namespace stepcast
