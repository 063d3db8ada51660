#pragma once
#include <string>

#include "sim/engine/simulate.hpp"
#include "sim/io/json_fwd.hpp"

namespace stepcast {
/// What the loaders sustain against what the training takes, what bounds them, and the changes
/// after which they keep up; null where the scenario has no `data`.
Json data_json(const Scenario& scenario, const Forecast& forecast);
/// The same for a terminal; "" for null.
std::string data_text(const Json& data);
}  // namespace stepcast
