#pragma once
#include "sim/engine/lowering/lowering.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/sync/sync_job.hpp"

namespace stepcast {
/// The scenario's replicas, servers, buckets and routes in seconds and bytes; for scenarios that are not in lockstep.
SyncJob lower_sync(const Scenario& scenario, const StepGraph& graph, const ModelWork& work, const Profile& profile);
/// Simulates them and fills what a forecast says of a step; SyncOutcome holds the rest.
void simulate_sync(const Scenario& scenario, const StepGraph& graph, const Profile& profile, const SimulateOptions& options, Forecast& forecast);

/// Distinct rows of a table of `rows` that `tokens` draws touch when the i-th row has probability proportional to 1 / i^skew.
double distinct_rows(std::int64_t rows, std::int64_t tokens, double skew);
}  // namespace stepcast
