#include <algorithm>

#include "sim/schedule/orders.hpp"

namespace stepcast::orders {
/// ZB-H1: the backward is split; the input gradient (B) is passed on at once, the weight gradient
/// (W) follows `stage` micro-batches later, so that late stages fill with W what would be their
/// bubble. No stage holds more than pp micro-batches, the first stage's peak under 1F1B. Bubble:
/// (pp - 1)(F + B - W) in place of (pp - 1)(F + B + W). Source: Qi et al., "Zero Bubble Pipeline
/// Parallelism", ICLR 2024 (arXiv 2401.10241), section 2.1.
///
///   stage 0  F0 F1 .  .  B0 W0 F2 B1 W1 ...
///   stage 1  .  F0 B0 F1 B1 W0 F2 B2 W1 ...  W2
std::vector<Work> zero_bubble(int stage, int pp, int micro_batches) {
  const int warm_up = std::min(pp - stage - 1, micro_batches);
  std::vector<Work> order;
  for (int m = 0; m < warm_up; ++m) order.push_back({Work::Kind::forward, m, 0});
  int next_weight = 0;
  for (int m = 0; m < micro_batches; ++m) {
    if (m + warm_up < micro_batches) order.push_back({Work::Kind::forward, m + warm_up, 0});
    order.push_back({Work::Kind::backward_data, m, 0});
    if (m >= stage) order.push_back({Work::Kind::backward_weight, next_weight++, 0});
  }
  while (next_weight < micro_batches)
    order.push_back({Work::Kind::backward_weight, next_weight++, 0});
  return order;
}
}  // namespace stepcast::orders
