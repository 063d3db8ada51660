#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/job.hpp"
#include "sim/engine/network.hpp"

namespace stepcast {
class DataSupply;
struct LinkLoad {
  std::string name;
  double bytes = 0, capacity = 0, utilisation = 0;
};  // bytes/s; over the step
/// One op of a lane, seconds: lane free and dependencies complete, and its end. Work on the compute
/// lane: when the host began to issue it (before the step where it was ahead), and how much slower
/// than planned the rank ran.
struct OpTime {
  double start = 0, end = 0;
  double host_start = 0, slowdown = 1;
};
using OpTimes = std::array<std::vector<OpTime>, kLanes>;  // of a worker, in each lane's order
struct StepOutcome {
  double step_s = 0;
  std::uint32_t critical_worker = 0;  // last to finish; ties: most compute
  Breakdown breakdown{};              // of the critical worker; sums to step_s
  std::vector<double> finish_s;       // per worker
  std::vector<Breakdown> per_worker;  // each sums to step_s (idle tail: straggler_wait)
  std::vector<LinkLoad> busiest;      // at most 10, by utilisation
  std::array<double, kGroupKinds>
      payload_bytes{};  // sent over node edges, by group, without efficiency inflation
  std::uint64_t events = 0;
  std::optional<Timeline> timeline;  // when asked for
  std::vector<OpTimes> op_times;     // by worker, when asked for
};
struct ExecuteOptions {
  bool record_timeline = false;
  int detail_workers = 1; /* workers whose segments show their pieces */
  /// Loaders of the job's workers; needed where programs have load ops. Its clock is the job's
  /// `clock_s` plus the step's; it goes on from step to step.
  DataSupply* supply = nullptr;
  bool record_op_times = false;
};

/// Runs a job on a network until every worker is done. Throws InternalError naming two waiting
/// workers and their ops when nothing can move (a deadlock).
StepOutcome execute_step(const Job& job, Network& network, const ExecuteOptions& options = {});
}  // namespace stepcast
