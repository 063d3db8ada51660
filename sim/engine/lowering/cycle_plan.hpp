#pragma once
#include <optional>

#include "sim/engine/simulate.hpp"

namespace stepcast {
/// Horovod's fusion: a background thread wakes every cycle, agrees with the others on which tensors
/// are ready everywhere, and packs them into buffers of bucket_bytes at most. What is ready when
/// follows from the lowered step without stragglers.
///
///   tensors ready   x x  x    x x x     x
///   cycles        |      |      |      |      |
///   buffers              [xxx]  [xxx]         [x]      each leaves a negotiation after its cycle
///
/// Nothing where the strategy has no cycle or the job no replicas.
std::optional<BucketPlan> plan_cycles(const Scenario& scenario, const ModelWork& work,
                                      const Profile& profile);

/// The packing alone: tensors of `bytes` ready at `ready_s` (ascending); `negotiation_s` follows
/// each cycle that has tensors.
BucketPlan fuse_by_cycle(const std::vector<double>& ready_s, const std::vector<double>& bytes,
                         double cycle_s, double threshold_bytes, double negotiation_s);
}  // namespace stepcast
