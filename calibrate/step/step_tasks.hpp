#pragma once
#include <optional>

#include "calibrate/measure/bench.hpp"
#include "runtime/step/trainer.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast::calibrate {
/// What the runtime trains for a scenario. Throws InputError with everything it cannot.
runtime::TrainingPlan plan_of(const Scenario& scenario, Seconds time_limit,
                              const std::string& interface);

/// The compressor of its gradients, none where they travel as they are.
std::optional<runtime::CompressorChoice> compressor_of(const Scenario& scenario);

/// Ops of the scenario's step one by one, as they run behind each other in a training loop: a few
/// blocks of its widths on one rank, a few steps, each span matched with the simulator's op (the
/// lists are equal, op by op). Entries keyed by kernel_key, so that the forecast of any depth,
/// bucket or rank count takes exactly these. Also "step/gap": idle between ops of the stream;
/// "step/edges": from the host's first call to the first op and from the last op to the host's
/// return, together.
Task op_task(const Scenario& scenario);

/// The real step on all ranks: "step/measured" without and "step/traced" with the recorder on
/// (slowest rank each), "step/part/<category>" of rank 0 by step_breakdown, and the loss of the
/// last step as "step/loss". Throws EnvironmentError when the loss is not a number.
Task step_task(const Scenario& scenario);
}  // namespace stepcast::calibrate
