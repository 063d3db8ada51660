#include "sim/schedule/orders.hpp"

namespace stepcast::orders {
/// All forwards, then all backwards; every micro-batch is in flight at the turn. Backwards run in
/// the order of the forwards, as torch.distributed.pipelining's ScheduleGPipe does. Source: Huang
/// et al., "GPipe", NeurIPS 2019.
///
///   stage 0  F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3
///   stage 1  .  F0 F1 F2 F3 .  .  B0 B1 B2 B3
std::vector<Work> gpipe(int /*stage*/, int /*pp*/, int micro_batches) {
  std::vector<Work> order;
  for (int m = 0; m < micro_batches; ++m) order.push_back({Work::Kind::forward, m, 0});
  for (int m = 0; m < micro_batches; ++m) order.push_back({Work::Kind::backward, m, 0});
  return order;
}
}  // namespace stepcast::orders
