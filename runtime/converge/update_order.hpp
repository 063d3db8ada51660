#pragma once
#include <cstdint>
#include <vector>

namespace stepcast::runtime {

/// How workers' parameters stay together, as far as learning is concerned.
/// lockstep: the mean of all gradients, every step. stale: gradients enter one by one, each
/// computed on the parameters of some updates ago. averaging: `period` steps alone, then the mean.
/// elastic: every `period` steps a worker and a centre approach each other. pairs: every `period`
/// steps two workers average; ring: all with both neighbours.
enum class UpdateKind : std::uint8_t { lockstep, stale, averaging, elastic, pairs, ring };

/// One gradient or exchange, in the order in which the simulator saw it enter.
struct UpdateEntry {
  std::int32_t worker = 0;
  std::int32_t step = 0;       // lockstep: the step that a dropped gradient belonged to
  std::int32_t peer = -1;      // pairs
  std::int64_t staleness = 0;  // updates between read and write
  bool is_dropped = false;     // lockstep with backup workers: came too late
};
/// A recorded order; training that needs more starts it over.
struct UpdateOrder {
  UpdateKind kind = UpdateKind::lockstep;
  int workers = 1;
  int period = 1;
  std::vector<UpdateEntry> entries;  // lockstep: only dropped ones; averaging, ring: none
  std::int64_t recorded_steps = 0;   // lockstep: steps that entries cover
};
}  // namespace stepcast::runtime
