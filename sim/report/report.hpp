#pragma once
#include <string>

#include "sim/engine/simulate.hpp"
#include "sim/io/json_fwd.hpp"
#include "sim/report/compare/compare.hpp"

namespace stepcast {
/// "0.1.0"
std::string version();

/// What the simulation itself took, and what ran it.
struct RunFacts {
  double wall_s = 0, peak_rss_MiB = 0;
  EngineKind engine = EngineKind::simgrid;
};
/// The report of design section 4 with its stable names; units stand in the keys.
/// step_time_s  : p50 is the median simulated step; p05 and p95 join the spread of the simulated
/// steps with the calibration's
///                relative sigma (quadratic sum; 1.645 sigma is the 5 % quantile of a normal).
/// breakdown_s  : of the critical rank in the simulated step `breakdown_of_step_s`; sums to it.
Json report_json(const Scenario& scenario, const Profile& profile, const Forecast& forecast,
                 const RunFacts& facts);

/// The same for a terminal: step, what fills it, throughput, memory, network, warnings.
std::string report_text(const Json& report);

/// A bare collective sweep, in nccl-tests' columns: size, time, algbw, busbw.
Json collective_sweep_json(const Scenario& scenario, const Profile& profile,
                           const std::vector<SweepPoint>& points, const RunFacts& facts);
std::string collective_sweep_text(const Json& report);
}  // namespace stepcast
