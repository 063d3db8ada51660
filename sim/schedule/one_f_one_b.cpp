#include <algorithm>

#include "sim/schedule/orders.hpp"

namespace stepcast::orders {
/// A stage warms up with as many forwards as there are stages behind it, then alternates one
/// forward and one backward, so that it never holds more than pp - stage micro-batches. Source:
/// Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training" (PipeDream-Flush), ICML
/// 2021.
///
///   stage 0  F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3
///   stage 2  .  .  F0 B0 F1 B1 F2 B2 F3 B3
std::vector<Work> one_f_one_b(int stage, int pp, int micro_batches) {
  const int warm_up = std::min(pp - stage - 1, micro_batches);
  std::vector<Work> order;
  for (int m = 0; m < warm_up; ++m) order.push_back({Work::Kind::forward, m, 0});
  for (int m = warm_up; m < micro_batches; ++m) {
    order.push_back({Work::Kind::forward, m, 0});
    order.push_back({Work::Kind::backward, m - warm_up, 0});
  }
  for (int m = micro_batches - warm_up; m < micro_batches; ++m)
    order.push_back({Work::Kind::backward, m, 0});
  return order;
}
}  // namespace stepcast::orders
