#include "sim/engine/lowering/cycle_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/engine/lowering/lowering.hpp"
#include "sim/engine/lowering/step_shape.hpp"
#include "sim/graph/gradient_buckets.hpp"

namespace stepcast {

BucketPlan fuse_by_cycle(const std::vector<double>& ready_s, const std::vector<double>& bytes,
                         double cycle_s, double threshold_bytes, double negotiation_s) {
  BucketPlan plan;
  for (std::size_t i = 0; i < ready_s.size();) {
    // The cycle in which tensor i is seen, and everything else that is ready by then.
    const double cycle = std::ceil(ready_s[i] / cycle_s - 1e-9) * cycle_s;
    bool is_first = true;
    while (i < ready_s.size() && ready_s[i] <= cycle + 1e-12) {
      double filled = 0;
      int count = 0;
      double last_ready = ready_s[i];
      while (i < ready_s.size() && ready_s[i] <= cycle + 1e-12 &&
             (count == 0 || filled + bytes[i] <= threshold_bytes)) {
        filled += bytes[i];
        last_ready = ready_s[i];
        ++count;
        ++i;
      }
      plan.tensors.push_back(count);
      // Later buffers of a cycle follow the first one on the same stream.
      plan.hold_s.push_back(is_first ? std::max(0.0, cycle - last_ready) + negotiation_s : 0);
      is_first = false;
    }
  }
  return plan;
}

std::optional<BucketPlan> plan_cycles(const Scenario& scenario, const ModelWork& work,
                                      const Profile& profile) {
  const int ranks = group_size(GroupKind::dp, scenario.parallel);
  if (scenario.strategy.cycle_s <= 0 || ranks < 2) return std::nullopt;
  // Every tensor on its own, to see when it is ready.
  Scenario single = scenario;
  single.stragglers.clear();
  single.mitigation = {};
  single.compression = {};
  single.strategy.cycle_s = 0;
  single.strategy.bucket_bytes = Bytes(1);
  single.strategy.first_bucket_bytes = Bytes(0);
  single.parallel.shard_size = 0;
  const StepGraph graph = build_step_graph(single, work);
  const Lowered lowered = lower_with_doubts(single, graph, profile);
  const StepShape shape =
      step_shape(lowered.job.programs[lowered.job.workers.front().program], lowered.job.names, 1);
  const StageContext context(single, work, 0);
  const std::vector<GradientBucket> tensors =
      tensors_of(context, context.layers_of(0), BackwardPart::whole);
  // Where the last tensors' ranks need no reduction (experts of one rank) the plan ends early: they
  // are not sent.
  std::vector<double> ready, bytes;
  std::size_t sent = 0;
  for (const GradientBucket& t : tensors) {
    const bool is_sent = group_size(t.group, scenario.parallel) > 1;
    ready.push_back(is_sent && sent < shape.buckets.size() ? shape.buckets[sent].ready_s
                    : ready.empty()                        ? 0
                                                           : ready.back());
    if (is_sent) ++sent;
    bytes.push_back(static_cast<double>(t.elements * context.gradient_element_bytes()));
  }
  // Buckets that complete together need not be listed in order of time.
  for (std::size_t i = 1; i < ready.size(); ++i) ready[i] = std::max(ready[i], ready[i - 1]);
  // Readiness goes up a tree to rank 0 and the decision comes down (MPI_Gather, MPI_Bcast; with the
  // response cache a bit vector is all-reduced, which takes as many steps).
  const double negotiation = 2 * std::ceil(std::log2(ranks)) * scenario.strategy.negotiation_hop_s;
  return fuse_by_cycle(ready, bytes, scenario.strategy.cycle_s,
                       static_cast<double>(scenario.strategy.bucket_bytes.value), negotiation);
}
}  // namespace stepcast
