#pragma once
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

/// Private to sim/scenario: keys that a person wrote and that nothing in this scenario reads. What
/// a preset states is no one's intention, so only `user` (file, includes and settings) is asked.
/// Values that are read and then change nothing are found later, from the workload
/// (sim/engine/lowering/warnings.hpp).
namespace stepcast {
/// "/strategy/prefetch has no effect: ...", in order of the keys below. The scenario is free of
/// problems.
std::vector<std::string> unused_keys(const Scenario& scenario, const Json& user);
}  // namespace stepcast
