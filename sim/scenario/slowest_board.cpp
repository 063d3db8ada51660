#include "sim/scenario/slowest_board.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/expected_maximum.hpp"

namespace stepcast {
namespace {
/// Ranks that compute in step: each waits, every step or before long, for the slowest of them. All
/// of them, unless replicas go on alone.
int ranks_in_step(const Scenario& scenario) {
  using enum SyncMode;
  const SyncMode mode = scenario.sync.mode;
  const bool goes_on_alone = mode == async || mode == elastic || mode == gossip;
  return goes_on_alone ? scenario.parallel.world() / scenario.parallel.dp
                       : scenario.parallel.world();
}

/// Boards of the GPU's kind among them.
int boards_in_step(const Scenario& scenario, const GpuSpec& gpu) {
  int boards = 0;
  for (const NodeGroup& group : scenario.cluster.groups)
    if (group.spec.gpu.name == gpu.name) boards += group.count * group.spec.gpus;
  return std::clamp(boards, 1, std::max(1, ranks_in_step(scenario)));
}
}  // namespace

double slowest_board(const Scenario& scenario, const GpuSpec& gpu) {
  return expected_maximum_lognormal(boards_in_step(scenario, gpu), gpu.clock_spread);
}

std::string slowest_board_note(const Scenario& scenario) {
  const GpuSpec& gpu = scenario.cluster.groups.front().spec.gpu;
  const int boards = boards_in_step(scenario, gpu);
  if (boards == 1 || gpu.clock_spread <= 0) return "";
  return fmt::format(
      "cluster.clock_spread = {:g}: products take {:.3f} x a typical board's time, as on the "
      "slowest of {}",
      gpu.clock_spread, slowest_board(scenario, gpu), boards);
}
}  // namespace stepcast
