#include "sim/straggler/storage_queue.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/random.hpp"

namespace stepcast {

double StorageQueue::wait_s(double start_s) {
  const std::int64_t batch = next_++;
  double ready = 0;
  if (batch >= spec_.prefetch) {
    const double spread =
        spec_.sigma > 0
            ? std::exp(spec_.sigma *
                           normal_from_bits(mixed_bits(key_, static_cast<std::uint64_t>(batch))) -
                       0.5 * spec_.sigma * spec_.sigma)
            : 1;
    ready = reader_free_ = std::max(reader_free_, taken_.front()) + spec_.read_s * spread;
    taken_.pop_front();
  }
  const double wait = std::max(0.0, ready - start_s);
  taken_.push_back(start_s + wait);
  return wait;
}
}  // namespace stepcast
