#include <algorithm>

#include "sim/schedule/orders.hpp"

namespace stepcast::orders {
namespace {
struct Slot {
  int micro_batch, chunk;
};

/// The order in which a stage meets (micro-batch, chunk): groups of pp micro-batches go through
/// every chunk before the next group starts.
std::vector<Slot> slots(int pp, int micro_batches, int chunks) {
  std::vector<Slot> order;
  for (int first = 0; first < micro_batches; first += pp)
    for (int chunk = 0; chunk < chunks; ++chunk)
      for (int m = first; m < first + pp; ++m) order.push_back({m, chunk});
  return order;
}
}  // namespace

/// 1F1B over virtual stages: chunk c of stage s holds pipeline position c * pp + s. Backwards take
/// the same order with the chunks reversed. The warm-up is Megatron-LM's: two forwards per stage
/// behind this one, plus a full group for every chunk but the last. Megatron-LM asks for a multiple
/// of pp micro-batches: a last group with fewer can make the stages wait for each other in a circle
/// (pp 4, 5 micro-batches, 3 chunks does). Here the last group is laid out in full and the
/// micro-batches that do not exist are left out, which removes works from a sound order and so
/// keeps it sound. Source: Narayanan et al., SC21 section 2.2; Megatron-LM
/// megatron/core/pipeline_parallel/schedules.py.
std::vector<Work> interleaved(int stage, int pp, int micro_batches, int virtual_stages) {
  const std::vector<Slot> order_of_slots = slots(pp, micro_batches, virtual_stages);
  const int total = static_cast<int>(order_of_slots.size());
  const int warm_up = std::min((pp - stage - 1) * 2 + (virtual_stages - 1) * pp, total);
  std::vector<Work> order;
  const auto forward = [&](int k) {
    const Slot slot = order_of_slots[static_cast<std::size_t>(k)];
    if (slot.micro_batch < micro_batches)
      order.push_back({Work::Kind::forward, slot.micro_batch, slot.chunk});
  };
  const auto backward = [&](int k) {
    const Slot slot = order_of_slots[static_cast<std::size_t>(k)];
    if (slot.micro_batch < micro_batches)
      order.push_back({Work::Kind::backward, slot.micro_batch, virtual_stages - 1 - slot.chunk});
  };
  for (int k = 0; k < warm_up; ++k) forward(k);
  for (int k = warm_up; k < total; ++k) {
    forward(k);
    backward(k - warm_up);
  }
  for (int k = total - warm_up; k < total; ++k) backward(k);
  return order;
}
}  // namespace stepcast::orders
