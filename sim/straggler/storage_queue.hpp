#pragma once
#include <cstdint>
#include <deque>

#include "sim/scenario/straggler_spec.hpp"

namespace stepcast {
/// A rank's loader: reads batches one after another, at most `prefetch` ahead of the step that
/// takes them.
///   batch k is read from max(end of reading k-1, moment k - prefetch was taken) on; a step waits
///   until its batch is there.
/// The first `prefetch` batches are there when the run begins.
class StorageQueue {
 public:
  StorageQueue(const SlowStorageSpec& spec, std::uint64_t key) : spec_(spec), key_(key) {}
  /// Seconds that a step starting at `start_s` waits for its batch; steps are asked in order.
  double wait_s(double start_s);

 private:
  SlowStorageSpec spec_;
  std::uint64_t key_;
  std::int64_t next_ = 0;  // batch
  double reader_free_ = 0;
  std::deque<double> taken_;  // moments at which the last `prefetch` batches were taken
};
}  // namespace stepcast
