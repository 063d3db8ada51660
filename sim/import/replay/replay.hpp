#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/network.hpp"
#include "sim/import/replay/workload_file.hpp"

/// Runs a workload again: who waits for whom is worked out anew, so a changed duration moves everything behind it.
///   start = max(lane free, dependencies done) + delay;   a collective or message ends `transfer` after its last member arrived.
namespace stepcast {

/// Carries a collective or message over a network in place of its recorded transfer time. Calls `done` when the last byte is there.
class Transport {
 public:
  virtual ~Transport() = default;
  /// False: this one keeps its recorded time (its bytes are unknown, say).
  virtual bool carry(const Workload& workload, const WorkOp& op, int rank, Network& network, std::function<void()> done) = 0;
};

struct ReplayOptions {
  bool keep_delays = true;      // false: launch gaps and everything else that is not explained take no time
  Transport* transport = nullptr;  // null: recorded transfer times
  bool record_timeline = false;
};
struct ReplayResult {
  std::vector<double> step_s;   // by workload step
  double total_s = 0;
  /// Of each rank: seconds of compute, own transfer and waiting in collectives and receives, by step.
  struct RankStep { double compute_s = 0, transfer_s = 0, wait_s = 0, end_s = 0; };
  std::vector<std::vector<RankStep>> ranks;  // [rank index][step]
  std::uint64_t events = 0;
  std::optional<Timeline> timeline;
};
/// Throws InputError naming two waiting ranks and ops when nothing can move (a collective that a recorded member never joins).
ReplayResult replay(const Workload& workload, const ReplayOptions& options = {});
}  // namespace stepcast
