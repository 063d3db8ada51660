#include "sim/engine/lowering/stragglers.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

bool names_rank(const StragglerSpec& straggler, int rank) {
  if (straggler.ranks.empty()) return true;
  return std::any_of(straggler.ranks.begin(), straggler.ranks.end(),
                     [&](const auto& range) { return rank >= range.first && rank <= range.second; });
}

/// Causes on one rank multiply (slowdowns), add (pauses) or add in squares (independent jitter).
BlockSlowness slowness_of(const std::vector<int>& ranks, const std::vector<StragglerSpec>& stragglers) {
  BlockSlowness block;
  if (stragglers.empty()) return block;
  int jittering = 0;
  for (int rank : ranks) {
    double slowdown = 1, pause = 0, variance = 0;
    std::map<std::string, double> per_op;
    for (const StragglerSpec& straggler : stragglers) {
      if (!names_rank(straggler, rank)) continue;
      if (straggler.op.empty())
        slowdown *= straggler.compute_slowdown;
      else
        per_op.try_emplace(straggler.op, 1.0).first->second *= straggler.compute_slowdown;
      variance += straggler.lognormal_sigma * straggler.lognormal_sigma;
      pause += straggler.pause_s;
    }
    block.slowdown = rank == ranks.front() ? slowdown : std::max(block.slowdown, slowdown);
    block.pause = std::max(block.pause, pause);
    block.jitter_sigma = std::max(block.jitter_sigma, std::sqrt(variance));
    jittering += variance > 0 ? 1 : 0;
    for (const auto& [op, factor] : per_op) {
      double& worst = block.op_slowdown.try_emplace(op, factor).first->second;
      worst = std::max(worst, factor);
    }
  }
  block.jitter_ranks = std::max(1, jittering);
  return block;
}
}  // namespace stepcast
