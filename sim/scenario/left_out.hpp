#pragma once
#include "sim/core/result.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"

/// What a scenario leaves out and what stands in for it; each stand-in is noted.
namespace stepcast {
/// dp left out: the world size gives it. False when tp x pp x cp does not divide the world, or the
/// world is not known (0).
bool derive_dp(int world, Scenario& scenario, Problems& problems);

/// Batch, sequence and precision of `merged`'s training section. Where model or layout are faulty
/// (`is_known` false) their defaults cannot be known: a stand-in keeps that from being a second
/// problem.
void fill_training_defaults(Json& merged, Scenario& scenario, bool is_known, bool has_cluster);

/// A rate that the hardware does not have would be made up: a problem.
void check_precision(const Scenario& scenario, Problems& problems);
}  // namespace stepcast
