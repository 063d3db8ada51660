#pragma once
#include <string>
#include <vector>

#include "sim/io/json_fwd.hpp"
#include "sim/profile/profile.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast::calibrate {
/// Steps that can be measured by name: gpt (four blocks of width 256), resnet50, resnet-small,
/// dlrm.
std::vector<std::string> step_names();
/// The scenario of the step to measure as JSON: the user's file, or the step of that name on
/// `ranks` data-parallel ranks; then the settings. Its cluster is the machine at hand.
Json step_document(const std::string& file, const std::string& model,
                   const std::vector<std::string>& settings, int ranks);
/// Puts the machine that was measured into it: one node of `ranks` devices under this profile.
void set_cluster(Json& document, const Profile& profile, int ranks);
/// Reads it; problems name `file` or "the calibration's step".
Scenario scenario_of_step(const Json& document, const std::string& file);
}  // namespace stepcast::calibrate
