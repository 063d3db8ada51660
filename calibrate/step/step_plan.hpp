#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/step/trainer.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/timeline/timeline.hpp"

/// A scenario's step as the runtime runs it, and what one run of it was.
namespace stepcast::calibrate {

/// What the runtime trains for a scenario. Throws InputError with everything it cannot.
runtime::TrainingPlan plan_of(const Scenario& scenario, Seconds time_limit,
                              const std::string& interface);
/// The compressor of its gradients, none where they travel as they are.
std::optional<runtime::CompressorChoice> compressor_of(const Scenario& scenario);

/// The ops of one step of one rank in issue order, as the simulator states them.
std::vector<Op> ops_of(const runtime::TrainingPlan& plan);
/// The plan on one rank with one micro-batch and as few blocks as keep kernels from finding their
/// operands in a cache that the whole step would have flushed: at least two, and more until
/// weights, gradients and activations exceed 64 MiB, twice the last-level cache that a core can
/// reach on current servers (AMD: 32 MiB per core complex).
runtime::TrainingPlan few_blocks(runtime::TrainingPlan plan);

struct RecordedStep {
  Timeline timeline;
  /// From the host's first call to its return, without what the recorder does afterwards.
  double wall_s = 0;
};
RecordedStep recorded_step(runtime::Trainer& trainer, std::int64_t step);
/// The spans of its compute stream, in order.
std::vector<const Span*> compute_spans(const Timeline& timeline);
}  // namespace stepcast::calibrate
