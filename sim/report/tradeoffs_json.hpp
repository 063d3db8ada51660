#pragma once
#include "sim/engine/simulate.hpp"
#include "sim/io/json_fwd.hpp"

/// Parts of the report about many steps, stragglers and replicas out of lockstep; null where a
/// scenario has none.
namespace stepcast {
/// Of the simulated steps alone, without the calibration's doubt.
Json distribution_json(const std::vector<double>& step_times);
/// `mean_step_s`: of the simulated steps.
Json stragglers_json(const Scenario& scenario, const Forecast& forecast, double mean_step_s);
Json synchronisation_json(const Scenario& scenario, const Forecast& forecast);

/// What stragglers cost over many steps, as JSON and for a terminal.
Json straggler_analysis_json(const Scenario& scenario, const StragglerAnalysis& analysis);
std::string straggler_analysis_text(const Json& analysis);
/// Causes as the scenario's "stragglers" section.
Json stragglers_section(const std::vector<StragglerSpec>& causes);
}  // namespace stepcast
