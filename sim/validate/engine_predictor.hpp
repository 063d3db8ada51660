#pragma once
#include <memory>
#include <string>

#include "sim/engine/network.hpp"
#include "sim/validate/predictor.hpp"

namespace stepcast {
/// Answers questions with the simulator itself: scenario -> graph -> cost -> engine, kernels
/// straight from the cost model. `profile` names the profile to use in place of each GPU's bundled
/// one; "" keeps them.
std::unique_ptr<Predictor> make_engine_predictor(EngineKind engine, const std::string& profile);
}  // namespace stepcast
