#pragma once
#include <string>
#include <vector>

#include "sim/import/replay/workload_file.hpp"
#include "sim/scenario/straggler_spec.hpp"

/// Who slows a traced job down, by replaying it with other durations (Lin et al., "Understanding
/// Stragglers in Large Model Training Using What-if Analysis", OSDI 2025): an op without stragglers
/// takes its kind's mean over all ranks and steps (compute) or its median (transfers); launch gaps
/// are left out of both sides.
namespace stepcast {

/// One stage, replica, worker or kind of op. `slowdown`: the job with only this part as traced,
/// over the ideal job. `recovered`: share of the whole slowdown that goes when this part alone
/// becomes ideal.
struct AttributedPart {
  std::string name;
  double slowdown = 1, recovered = 0;
};
struct TraceAttribution {
  double measured_s = 0;  // mean step as recorded, launch gaps included
  double traced_s = 0;    // replayed without launch gaps
  double ideal_s = 0;     // the same with straggler-free durations
  double slowdown() const { return ideal_s > 0 ? traced_s / ideal_s : 1; }
  std::vector<AttributedPart> stages, replicas, workers, ops;  // each by slowdown, largest first
  /// The same job's slowness as causes of a scenario: each worker's compute against the mean of
  /// all, and its jitter.
  std::vector<StragglerSpec> stragglers;
};
TraceAttribution attribute_trace(const Workload& workload);
}  // namespace stepcast
