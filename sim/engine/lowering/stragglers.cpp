#include "sim/engine/lowering/stragglers.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/random.hpp"

namespace stepcast {
namespace {
bool is_in(const std::vector<std::pair<int, int>>& ranges, int number) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
           return number >= range.first && number <= range.second;
         });
}
/// What the executor asks op by op or step by step; constant factors, pauses and lognormal jitter
/// per pass have fields of their own.
bool changes_with_moment(const StragglerSpec& s) {
  return !s.jitter.is_none() || s.burst.every_s > 0 || s.periodic.period_s > 0 ||
         s.periodic.period_steps > 0 || s.drift.per_hour > 0;
}
}  // namespace

bool names_node(const StragglerSpec& straggler, int node) { return is_in(straggler.nodes, node); }

bool names_rank(const StragglerSpec& straggler, int rank, int node) {
  return straggler.is_by_node ? names_node(straggler, node) : is_in(straggler.ranks, rank);
}

std::vector<StorageQueue> loaders_of(const std::vector<StragglerSpec>& stragglers,
                                     std::uint64_t seed, int first_rank, int node) {
  constexpr std::uint64_t kStream = 0x10ad;  // apart from the other draws of this rank
  std::vector<StorageQueue> loaders;
  for (std::size_t i = 0; i < stragglers.size(); ++i)
    if (stragglers[i].storage.read_s > 0 && names_rank(stragglers[i], first_rank, node))
      loaders.emplace_back(
          stragglers[i].storage,
          mixed_bits(mixed_bits(seed, static_cast<std::uint64_t>(first_rank)), kStream + i));
  return loaders;
}

/// Causes on one rank multiply (slowdowns), add (pauses) or add in squares (independent jitter).
BlockSlowness slowness_of(const std::vector<int>& ranks,
                          const std::vector<StragglerSpec>& stragglers,
                          const std::vector<int>& node_of_rank) {
  BlockSlowness block;
  if (stragglers.empty()) return block;
  int jittering = 0;
  bool is_first = true;
  for (int rank : ranks) {
    double slowdown = 1, pause = 0, variance = 0;
    std::map<std::string, double> per_op;
    const int node = node_of_rank.empty() ? -1 : node_of_rank[static_cast<std::size_t>(rank)];
    DisturbedRank disturbed{rank, {}};
    for (std::size_t i = 0; i < stragglers.size(); ++i) {
      const StragglerSpec& straggler = stragglers[i];
      if (!names_rank(straggler, rank, node)) continue;
      if (straggler.op.empty())
        slowdown *= straggler.compute_slowdown;
      else
        per_op.try_emplace(straggler.op, 1.0).first->second *= straggler.compute_slowdown;
      variance += straggler.lognormal_sigma * straggler.lognormal_sigma;
      pause += straggler.pause_s;
      if (changes_with_moment(straggler)) disturbed.causes.push_back(static_cast<std::uint32_t>(i));
    }
    block.slowdown = is_first ? slowdown : std::max(block.slowdown, slowdown);
    is_first = false;
    block.pause = std::max(block.pause, pause);
    block.jitter_sigma = std::max(block.jitter_sigma, std::sqrt(variance));
    jittering += variance > 0 ? 1 : 0;
    if (!disturbed.causes.empty()) block.disturbance.ranks.push_back(std::move(disturbed));
    for (const auto& [op, factor] : per_op) {
      double& worst = block.op_slowdown.try_emplace(op, factor).first->second;
      worst = std::max(worst, factor);
    }
  }
  if (!block.disturbance.ranks.empty()) {
    block.disturbance.causes = stragglers;
    // An undisturbed rank of the block still has to be waited for.
    if (block.disturbance.ranks.size() < ranks.size()) block.disturbance.ranks.push_back({-1, {}});
  }
  block.jitter_ranks = std::max(1, jittering);
  return block;
}
}  // namespace stepcast
