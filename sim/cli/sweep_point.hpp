#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/cli/scenario_argument.hpp"

namespace stepcast {
/// One simulated point: "ok" or its problem, and figures under the columns of SweepTable.
struct PointFigures {
  std::string status;
  std::map<std::string, std::string> figures;
};
/// Simulates the scenario under more settings, in a process of its own. Gives JSON for a pipe:
/// {"status": ..., "figures": {...}}.
std::string simulated_point(const ScenarioArguments& what, EngineKind engine,
                            const std::vector<std::string>& settings);
/// Reads that back.
PointFigures point_figures(const std::string& answer);
}  // namespace stepcast
