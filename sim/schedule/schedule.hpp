#pragma once
#include <vector>

#include "sim/workload/parallel_layout.hpp"

namespace stepcast {
/// One unit of pipeline work of a stage. backward covers input and weight gradients; zero-bubble
/// splits it.
struct Work {
  enum class Kind : std::uint8_t { forward, backward, backward_data, backward_weight };
  Kind kind;
  int micro_batch;
  int chunk;  // virtual stage held by this rank, 0 .. virtual_stages-1
  bool is_forward() const { return kind == Kind::forward; }
};
/// The order in which `stage` of `pp` works through `micro_batches`. Every forward and backward of
/// every (micro-batch, chunk) appears once, a backward after its forward. The runtime executes the
/// very same list. Sources: GPipe (Huang 2019); 1F1B (PipeDream-Flush, Narayanan 2021); interleaved
/// (Narayanan SC21); zero-bubble ZB-H1 (Qi 2023).
std::vector<Work> schedule_work(ScheduleKind kind, int stage, int pp, int micro_batches,
                                int virtual_stages);
}  // namespace stepcast
