#include "sim/cli/sweep_point.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cli/self_usage.hpp"
#include "sim/core/result.hpp"
#include "sim/io/json.hpp"
#include "sim/report/report.hpp"

namespace stepcast {
namespace {
/// Figures of one report under the table's column names.
std::map<std::string, std::string> figures_of(const Json& r) {
  std::map<std::string, std::string> figures;
  const auto put = [&](const std::string& column, const Json& value) {
    if (value.is_number()) figures[column] = fmt::format("{:.10g}", value.get<double>());
  };
  put("step_time_s", r["step_time_s"]["p50"]);
  put("step_time_p05_s", r["step_time_s"]["p05"]);
  put("step_time_p95_s", r["step_time_s"]["p95"]);
  for (const char* key :
       {"tokens_per_s", "samples_per_s", "model_flops_utilization", "hardware_flops_utilization"})
    put(key, r[key]);
  put("memory_worst_GiB", r["memory_GiB"]["worst"]);
  figures["fits"] = r["memory_GiB"]["fits"].get<bool>() ? "1" : "0";
  if (r["money"].is_object()) put("usd_per_step", r["money"]["usd_per_step"]);
  put("gpus", r["scenario"]["gpus"]);
  for (const auto& [category, seconds] : r["breakdown_s"].items()) put(category + "_s", seconds);
  if (r["stragglers"].is_object()) put("straggler_slowdown", r["stragglers"]["slowdown"]);
  if (r["step_distribution_s"].is_object()) put("step_time_p99_s", r["step_distribution_s"]["p99"]);
  if (r["synchronisation"].is_object())
    put("mean_staleness", r["synchronisation"]["staleness"]["mean"]);
  double bytes = 0;
  for (const auto& [group, count] : r["network"]["bytes_by_group"].items())
    bytes += count.get<double>();
  put("network_bytes", Json(bytes));
  put("simulation_wall_s", r["simulation"]["wall_s"]);
  return figures;
}
}  // namespace

std::string simulated_point(const ScenarioArguments& what, EngineKind engine,
                            const std::vector<std::string>& settings) {
  Json answer{{"status", "ok"}, {"figures", Json::object()}};
  try {
    const Stopwatch watch;
    const Prepared p = prepared(what, settings);
    if (p.scenario.collective_sweep)
      throw InputError(Problem{p.scenario.file, "/collective",
                               "sweeps of sizes have no step to tabulate",
                               "use stepcast simulate"});
    const Forecast forecast = simulate(p.scenario, p.profile, {.engine = engine, .execute = {}});
    const Json report =
        report_json(p.scenario, p.profile, forecast,
                    {.wall_s = watch.seconds(), .peak_rss_MiB = peak_rss_MiB(), .engine = engine});
    for (const auto& [column, figure] : figures_of(report)) answer["figures"][column] = figure;
  } catch (const InputError& e) {
    std::string problems = e.problems.text();
    std::replace(problems.begin(), problems.end(), '\n', ' ');
    answer["status"] = problems;
  }
  return answer.dump();
}

PointFigures point_figures(const std::string& answer) {
  const Json result = Json::parse(answer);
  PointFigures point{result["status"].get<std::string>(), {}};
  for (const auto& [column, figure] : result["figures"].items())
    point.figures[column] = figure.get<std::string>();
  return point;
}
}  // namespace stepcast
