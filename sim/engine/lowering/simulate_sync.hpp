#pragma once
#include "sim/engine/simulate.hpp"

namespace stepcast {
/// Simulates a scenario that is not in lockstep and fills what a forecast says of a step;
/// SyncOutcome holds the rest.
void simulate_sync(const Scenario& scenario, const StepGraph& graph, const Profile& profile,
                   const SimulateOptions& options, Forecast& forecast);
}  // namespace stepcast
