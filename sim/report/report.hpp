#pragma once
#include <string>

#include "sim/engine/simulate.hpp"
#include "sim/io/json_fwd.hpp"

namespace stepcast {
/// The report of design section 4 with its stable names.
Json report_json(const Scenario& scenario, const Profile& profile, const Forecast& forecast, double wall_s, double peak_rss_MiB);
/// The same for a terminal: step, what fills it, throughput, memory, network, warnings.
std::string report_text(const Json& report);
/// What differs between two reports, by category.
std::string compare_reports(const Json& a, const Json& b);
}  // namespace stepcast
