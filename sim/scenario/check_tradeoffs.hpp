#pragma once
#include <string>

#include "sim/scenario/scenario.hpp"

/// Private to sim/scenario: what compression, synchronisation and mitigation ask of the layout.
namespace stepcast {
/// Problems of combinations that cannot run, and what follows from those that can (two-level
/// compression splits the dp group).
void check_tradeoffs(Scenario& scenario, const std::string& file, Problems& problems);
}  // namespace stepcast
