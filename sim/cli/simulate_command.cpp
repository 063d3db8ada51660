#include <fmt/format.h>

#include <memory>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_argument.hpp"
#include "sim/cli/self_usage.hpp"
#include "sim/import/generated/step_workload.hpp"
#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/report/memory_counters.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/chrome_trace.hpp"

namespace stepcast {
namespace {
struct SimulateArguments {
  ScenarioArguments what;
  std::string engine = "simgrid", folder, workload;
  bool is_json = false;
  int detail_ranks = 1;
};

void write_json_file(const std::string& path, const Json& document) {
  write_file(path, document.dump(2) + "\n");
}

void simulate_step(const SimulateArguments& a, const Prepared& p, EngineKind engine,
                   const Stopwatch& watch) {
  SimulateOptions options{.engine = engine, .execute = {}};
  options.execute.record_timeline = !a.folder.empty();
  options.execute.detail_workers = a.detail_ranks;
  if (!a.workload.empty())
    options.on_first_step = [&](const Job& job, const StepOutcome& outcome) {
      write_workload(workload_of_step(job, outcome, p.profile, engine), a.workload);
    };
  Forecast forecast = simulate(p.scenario, p.profile, options);
  if (forecast.outcome.timeline)
    add_memory_counters(p.scenario.parallel, forecast.memory, *forecast.outcome.timeline);
  const Json report =
      report_json(p.scenario, p.profile, forecast,
                  {.wall_s = watch.seconds(), .peak_rss_MiB = peak_rss_MiB(), .engine = engine});
  if (!a.folder.empty()) {
    write_json_file(a.folder + "/report.json", report);
    if (forecast.sync) write_file(a.folder + "/updates.csv", update_log_csv(*forecast.sync));
    if (forecast.outcome.timeline)
      write_chrome_trace(*forecast.outcome.timeline, a.folder + "/trace.json.gz");
  }
  if (a.is_json)
    fmt::print("{}\n", report.dump(2));
  else
    fmt::print("{}", report_text(report));
  if (!a.workload.empty() && !a.is_json)
    fmt::print("written         {} (stepcast replay runs it again)\n", a.workload);
}

/// A workload is one lockstep step of ranks that wait for each other.
void check_workload(const SimulateArguments& a, const Scenario& scenario) {
  if (a.workload.empty()) return;
  const auto refuse = [](const std::string& found, const std::string& advice) {
    throw InputError(Problem{"--workload", "", found, advice});
  };
  if (a.workload.find(".workload.json") == std::string::npos)
    refuse("\"" + a.workload + "\" names no workload file",
           "end it in .workload.json, .workload.json.gz or .workload.json.zst");
  if (scenario.collective_sweep)
    refuse("a bare collective is no step of a job", "simulate a model, or leave it out");
  if (!scenario.sync.is_lockstep())
    refuse("replicas out of lockstep have no common step", "leave it out, or set /sync to bsp");
}

void simulate_sweep_of_sizes(const SimulateArguments& a, const Prepared& p, EngineKind engine,
                             const Stopwatch& watch) {
  const auto points = simulate_collectives(p.scenario, p.profile, engine);
  const Json report = collective_sweep_json(
      p.scenario, p.profile, points,
      {.wall_s = watch.seconds(), .peak_rss_MiB = peak_rss_MiB(), .engine = engine});
  if (!a.folder.empty()) write_json_file(a.folder + "/report.json", report);
  if (a.is_json)
    fmt::print("{}\n", report.dump(2));
  else
    fmt::print("{}", collective_sweep_text(report));
}

int run(const SimulateArguments& a) {
  const Stopwatch watch;
  const EngineKind engine = engine_from_text(a.engine);
  const Prepared p = prepared(a.what);
  check_workload(a, p.scenario);
  if (p.scenario.collective_sweep)
    simulate_sweep_of_sizes(a, p, engine, watch);
  else
    simulate_step(a, p, engine, watch);
  if (!a.folder.empty() && !a.is_json)
    fmt::print("written         {0}/report.json{1}\n", a.folder,
               p.scenario.collective_sweep ? ""
                                           : ", " + a.folder +
                                                 (p.scenario.sync.is_lockstep()
                                                      ? "/trace.json.gz (ui.perfetto.dev opens it)"
                                                      : "/updates.csv (who read which version)"));
  return kGood;
}
}  // namespace

void add_simulate_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App& command = *app.add_subcommand(
      "simulate", "forecast one training step, or the times of a bare collective");
  arguments->what.add_to(command);
  add_engine_option(command, arguments->engine);
  command
      .add_option("-o,--output", arguments->folder,
                  "folder for report.json, trace.json.gz and (replicas out of lockstep) "
                  "updates.csv [none written]")
      ->type_name("DIR");
  command
      .add_option("--workload", arguments->workload,
                  "file for the first step as a graph that stepcast replay runs again "
                  "[none written]")
      ->type_name("FILE.workload.json.zst");
  command.add_flag("--json", arguments->is_json,
                   "print the report as one JSON document and nothing else");
  command
      .add_option("--detail", arguments->detail_ranks,
                  "workers whose trace shows every op; the others show passes")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str()
      ->type_name("N");
  command.callback([arguments, &exit_code] { exit_code = run(*arguments); });
}
}  // namespace stepcast
