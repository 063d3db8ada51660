#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/straggler/disturbance.hpp"
#include "sim/straggler/storage_queue.hpp"

namespace stepcast {
/// What of the scenario's causes is taken out: the what-if of an analysis, and what eviction does
/// during a run.
struct Exemptions {
  std::set<int> nodes;   // physical nodes whose ranks, ports and storage are as good as any
  std::set<int> stages;  // pipeline stages whose ranks are
  int evicted_without_spare = 0;  // nodes that are gone: the others compute their samples
};

/// What the scenario's stragglers do to a lockstep block: its slowest rank decides.
struct BlockSlowness {
  double slowdown = 1;                        // of all compute
  std::map<std::string, double> op_slowdown;  // of ops of one name, on top of it
  double jitter_sigma = 0;                    // of every pass
  int jitter_ranks = 1;                       // ranks whose draws compete
  double pause = 0;
  Disturbance disturbance;  // everything that changes with step or moment, beside jitter_sigma
};
/// `node_of_rank`: physical node by rank; empty where causes by node do not occur.
BlockSlowness slowness_of(const std::vector<int>& ranks,
                          const std::vector<StragglerSpec>& stragglers,
                          const std::vector<int>& node_of_rank = {});
bool names_rank(const StragglerSpec& straggler, int rank, int node = -1);
bool names_node(const StragglerSpec& straggler, int node);
/// The slow loaders that a block waits for, by the causes that name its first rank.
std::vector<StorageQueue> loaders_of(const std::vector<StragglerSpec>& stragglers,
                                     std::uint64_t seed, int first_rank, int node);
}  // namespace stepcast
