#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_argument.hpp"
#include "sim/import/straggler/straggler_table.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/report/tradeoffs_json.hpp"
#include "sim/straggler/fit_series.hpp"
#include "sim/straggler/trace/attribution.hpp"

namespace stepcast {
namespace {
struct StragglersArguments {
  ScenarioArguments what;
  std::string engine = "native", output;
  bool is_json = false;
};

int run_analysis(const StragglersArguments& a) {
  const EngineKind engine = engine_from_text(a.engine);
  Prepared p = prepared(a.what);
  if (p.scenario.collective_sweep)
    throw InputError(Problem{p.scenario.file, "/collective", "a sweep of sizes has no step",
                             "use stepcast simulate"});
  if (p.scenario.stragglers.empty())
    throw InputError(Problem{p.scenario.file, "/stragglers",
                             "names none; there is nothing to attribute",
                             "for example [ { \"ranks\": \"3\", \"compute_slowdown\": 1.1 } ]"});
  if (!p.scenario.sync.is_lockstep())
    throw InputError(
        Problem{p.scenario.file, "/sync",
                "attribution is for replicas in lockstep; others do not wait for the slowest",
                "use stepcast simulate, which reports the slowdown"});
  default_straggler_steps(p.scenario);
  const Json report =
      straggler_analysis_json(p.scenario, analyse_stragglers(p.scenario, p.profile, engine));
  if (!a.output.empty()) write_file(a.output, report.dump(2) + "\n");
  if (a.is_json)
    fmt::print("{}\n", report.dump(2));
  else
    fmt::print("{}", straggler_analysis_text(report));
  return kGood;
}

struct FitArguments {
  std::string table, column = "step_time_s", by = "job", output;
  int ranks = 1;
  bool is_json = false;
};

Json parts_json(const std::vector<AttributedPart>& parts) {
  Json out = Json::array();
  for (const AttributedPart& p : parts)
    out.push_back({{"name", p.name}, {"slowdown", p.slowdown}, {"recovered", p.recovered}});
  return out;
}

constexpr double kLongestStep_s = 3e10;  // a thousand years: sums of squares stay finite

Json fit_of_trace(const std::string& path) {
  Anomalies anomalies;
  const TraceAttribution a = attribute_trace(straggler::read_table(path, anomalies));
  Json out{{"stepcast", 1},
           {"kind", "straggler_fit"},
           {"table", path},
           {"measured_step_s", a.measured_s},
           {"traced_step_s", a.traced_s},
           {"ideal_step_s", a.ideal_s},
           {"slowdown", a.slowdown()},
           {"stages", parts_json(a.stages)},
           {"replicas", parts_json(a.replicas)},
           {"ranks", parts_json(a.workers)},
           {"ops", parts_json(a.ops)}};
  out["stragglers"] = stragglers_section(a.stragglers);
  return out;
}

Json fit_of_series(const FitArguments& a, const CsvTable& table) {
  if (!table.has_column(a.column))
    throw InputError(
        Problem{a.table, "line 1", "has no column " + a.column, "name it with --column"});
  // One series per value of the grouping column, in order of appearance.
  std::vector<std::pair<std::string, std::vector<double>>> series;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto value = table.number(i, a.column);
    if (!value || *value <= 0 || *value > kLongestStep_s)
      throw InputError(Problem{a.table, fmt::format("line {}", table.line_of(i)),
                               "\"" + table.text(i, a.column) + "\" is no step time",
                               "seconds above 0, and below a thousand years"});
    const std::string name = table.has_column(a.by) ? table.text(i, a.by) : "";
    const auto at =
        std::find_if(series.begin(), series.end(), [&](const auto& s) { return s.first == name; });
    (at == series.end() ? series.emplace_back(name, std::vector<double>{}) : *at)
        .second.push_back(*value);
  }
  Json out{{"stepcast", 1},
           {"kind", "straggler_fit"},
           {"table", a.table},
           {"ranks", a.ranks},
           {"series", Json::array()}};
  for (const auto& [name, steps] : series) {
    const SeriesFit f = fit_step_series(steps, a.ranks, a.table + (name.empty() ? "" : " " + name));
    out["series"].push_back({{"name", name},
                             {"steps", f.steps},
                             {"warm_up_steps", f.warm_up},
                             {"median_s", f.median_s},
                             {"mean_s", f.mean_s},
                             {"variation", f.variation},
                             {"rank_sigma", f.rank_sigma},
                             {"straggler_free_s", f.base_s},
                             {"spikes", f.spikes},
                             {"drift_per_hour", f.drift_per_hour},
                             {"stragglers", stragglers_section(f.stragglers)}});
  }
  return out;
}

std::string fit_text(const Json& r) {
  std::string text;
  if (r.contains("series")) {
    for (const Json& s : r["series"])
      text += fmt::format(
          "{}{} steps after {} of warm-up: median {:.6g} s, variation {:.3f} %, {} spikes, drift "
          "{:.3g} /h\n  each of {} ranks: lognormal sigma {:.4f}; step without stragglers {:.6g} "
          "s\n  \"stragglers\": {}\n",
          s["name"].get<std::string>().empty() ? "" : s["name"].get<std::string>() + "\n  ",
          s["steps"].get<int>(), s["warm_up_steps"].get<int>(), s["median_s"].get<double>(),
          100 * s["variation"].get<double>(), s["spikes"].get<int>(),
          s["drift_per_hour"].get<double>(), r["ranks"].get<int>(), s["rank_sigma"].get<double>(),
          s["straggler_free_s"].get<double>(), s["stragglers"].dump());
    return text;
  }
  text = fmt::format(
      "step            {:.6g} s measured, {:.6g} s without launch gaps, {:.6g} s without "
      "stragglers: {:.3f} x\n",
      r["measured_step_s"].get<double>(), r["traced_step_s"].get<double>(),
      r["ideal_step_s"].get<double>(), r["slowdown"].get<double>());
  for (const char* key : {"stages", "replicas", "ranks", "ops"}) {
    text += fmt::format("\n{:<32} alone slows by   recovered when ideal\n", key);
    for (const Json& p : r[key])
      text += fmt::format("  {:<30} {:8.4f} x   {:6.1f} %\n", p["name"].get<std::string>(),
                          p["slowdown"].get<double>(), 100 * p["recovered"].get<double>());
  }
  return text + fmt::format("\n\"stragglers\": {}\n", r["stragglers"].dump());
}

int run_fit(const FitArguments& a) {
  const std::string head = read_file(a.table).value_or_throw();
  const Json report = straggler::sniff(head)
                          ? fit_of_trace(a.table)
                          : fit_of_series(a, CsvTable::parse(head, a.table).value_or_throw());
  if (!a.output.empty()) write_file(a.output, report.dump(2) + "\n");
  if (a.is_json)
    fmt::print("{}\n", report.dump(2));
  else
    fmt::print("{}", fit_text(report));
  return kGood;
}
}  // namespace

void add_stragglers_command(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<StragglersArguments>();
  CLI::App& command = *app.add_subcommand(
      "stragglers",
      "what a scenario's stragglers cost over many steps, who is behind it and what would help");
  a->what.add_to(command);
  add_engine_option(command, a->engine);
  command.add_option("-o,--output", a->output, "file for the report as JSON [none written]")
      ->type_name("FILE");
  command.add_flag("--json", a->is_json, "print the report as one JSON document and nothing else");
  command.callback([a, &exit_code] { exit_code = run_analysis(*a); });

  auto f = std::make_shared<FitArguments>();
  CLI::App& fit = *app.add_subcommand(
      "fit-stragglers",
      "causes of slowness from measured step times, or from an operation table of every rank");
  fit.add_option("table", f->table,
                 "CSV with a column of step times, or an operation table "
                 "(dp_rank,stage,rank,step,optype,start_ts,duration,seq_id), gz allowed")
      ->required()
      ->type_name("CSV");
  fit.add_option("--column", f->column, "column of the step times, seconds")
      ->capture_default_str()
      ->type_name("NAME");
  fit.add_option("--by", f->by, "column that tells series apart")
      ->capture_default_str()
      ->type_name("NAME");
  fit.add_option("--ranks", f->ranks,
                 "ranks (or nodes) whose jitter is independent and meets in every step")
      ->check(CLI::Range(1, 1 << 22))
      ->capture_default_str()
      ->type_name("N");
  fit.add_option("-o,--output", f->output, "file for the fit as JSON [none written]")
      ->type_name("FILE");
  fit.add_flag("--json", f->is_json, "print the fit as one JSON document and nothing else");
  fit.callback([f, &exit_code] { exit_code = run_fit(*f); });
}
}  // namespace stepcast
