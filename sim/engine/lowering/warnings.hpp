#pragma once
#include <string>
#include <vector>

#include "sim/engine/simulate.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/workload/model_work.hpp"

namespace stepcast {
/// Inputs of the scenario that change nothing in it, each with the reason, so that nobody tunes a
/// dead knob.
std::vector<std::string> inputs_without_effect(const Scenario& scenario, const ModelWork& work);
/// What to do about a step that waits for samples; "" when it does not.
std::string data_stall_warning(const Forecast& forecast);
}  // namespace stepcast
