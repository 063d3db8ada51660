#pragma once
#include <map>
#include <vector>

#include "calibrate/measure/bench.hpp"
#include "calibrate/step/call_log.hpp"

namespace stepcast::calibrate {

/// The collectives of a step in its own order, sizes and precisions, with nothing beside them: each
/// isolated by a barrier, on buffers as large together as the step's.
class CollectivePiece {
 public:
  /// `calls`: of one step. Those of smaller groups than the world are left to the sweeps.
  CollectivePiece(Bench& bench, const std::vector<CollectiveCall>& calls);
  bool is_empty() const { return calls_.empty(); }
  void round();
  /// Keyed "collective/<name>/<ranks>/<bytes>", as the sweeps are.
  std::vector<Entry> entries() const;

  /// Calls that run beside computation, in order.
  const std::vector<CollectiveCall>& calls() const { return calls_; }
  /// Enqueues call `index` on the side stream, on its own part of the buffers.
  void run(std::size_t index);
  /// Writes the gradients anew: sums of sums would overflow in the end.
  void refill();
  /// Median seconds of a call, once a round was run.
  double seconds_of(std::size_t index) const;

 private:
  Bench& bench_;
  std::vector<CollectiveCall> calls_;
  std::vector<std::int64_t> offsets_;  // bytes into the buffer
  runtime::Buffer source_, buffer_, received_;
  std::map<std::string, std::vector<double>> samples_;
};
}  // namespace stepcast::calibrate
