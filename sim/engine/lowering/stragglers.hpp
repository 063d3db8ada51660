#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace stepcast {
/// What the scenario's stragglers do to a lockstep block: its slowest rank decides.
struct BlockSlowness {
  double slowdown = 1;                         // of all compute
  std::map<std::string, double> op_slowdown;   // of ops of one name, on top of it
  double jitter_sigma = 0;                     // of every pass
  int jitter_ranks = 1;                        // ranks whose draws compete
  double pause = 0;
};
BlockSlowness slowness_of(const std::vector<int>& ranks, const std::vector<StragglerSpec>& stragglers);
bool names_rank(const StragglerSpec& straggler, int rank);
}  // namespace stepcast
