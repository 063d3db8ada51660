#pragma once
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/workload/model_work.hpp"

namespace stepcast {
/// Inputs of the scenario that change nothing in it, each with the reason, so that nobody tunes a
/// dead knob.
std::vector<std::string> inputs_without_effect(const Scenario& scenario, const ModelWork& work);
}  // namespace stepcast
