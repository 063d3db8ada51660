#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/scenario_argument.hpp"
#include "sim/cli/sweep_chart.hpp"
#include "sim/cli/sweep_point.hpp"
#include "sim/cli/sweep_table.hpp"
#include "sim/cli/worker_pool.hpp"
#include "sim/core/random.hpp"
#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/source_files.hpp"

namespace stepcast {
namespace {
constexpr int kStoppedBySignal = 130;  // as shells report a program ended by Ctrl-C

struct SweepArguments {
  ScenarioArguments what;
  std::vector<std::string> vary;
  std::string engine = "simgrid", output = "sweep.csv", chart, chart_y, title;
  int jobs = 0;
  bool is_json = false;
};

/// Whether values at `pointer` name files of their own: presets, a profile, or a GPU that implies
/// one.
bool names_files(const std::string& pointer) {
  const std::vector<std::string> whole{"/model", "/cluster", "/strategy", "/profile",
                                       "/cluster/gpu"};
  return pointer.ends_with("/preset") ||
         std::find(whole.begin(), whole.end(), pointer) != whole.end();
}

/// Everything beside the varied values that the figures depend on, as 16 hex digits: version,
/// engine, settings, and the content of the scenario, its includes, presets and profiles. A table
/// of old figures is never taken for a new sweep's.
std::string fingerprint_of(const SweepArguments& a, const std::vector<Variation>& variations,
                           const GridPoint& first) {
  std::vector<std::string> settings = a.what.all_settings();
  std::string text = version() + '\n' + a.engine;
  for (const std::string& setting : settings) text += '\n' + setting;
  read_file(a.what.path()).value_or_throw();  // a scenario that is not there is said at once

  std::set<std::string> files;
  const auto add_files_at = [&](const GridPoint& point) {
    std::vector<std::string> all = settings;
    for (const std::string& varied : settings_of(variations, point)) all.push_back(varied);
    for (const std::string& file : source_files(a.what.path(), all)) files.insert(file);
  };
  add_files_at(first);
  for (std::size_t axis = 0; axis < variations.size(); ++axis) {
    if (!names_files(variations[axis].pointer)) continue;
    for (const std::string& value : variations[axis].values) {
      GridPoint point = first;
      point[axis] = value;
      add_files_at(point);
    }
  }
  std::uint64_t hash = 0;
  const auto add = [&](const std::string& bytes) {
    for (const char c : bytes) hash = mixed_bits(hash, static_cast<unsigned char>(c));
    hash = mixed_bits(hash, bytes.size());
  };
  add(text);
  for (const std::string& file : files)
    if (const auto content = read_file(file)) add(*content);
  return fmt::format("{:016x}", hash);
}

void refuse_repeated(const std::vector<Variation>& variations) {
  std::set<std::string> seen;
  for (const Variation& variation : variations)
    if (!seen.insert(variation.pointer).second)
      throw InputError(Problem{"--vary", variation.pointer, "is varied twice",
                               "put all its values into one --vary"});
}

void draw(const SweepArguments& a, const SweepTable& table,
          const std::vector<Variation>& variations, const std::vector<GridPoint>& grid) {
  std::string y = a.chart_y;
  const auto& columns = SweepTable::figure_columns();
  if (y.empty()) {
    const bool has_tokens = std::any_of(grid.begin(), grid.end(), [&](const GridPoint& p) {
      return std::isfinite(table.figure(p, "tokens_per_s"));
    });
    y = has_tokens ? "tokens_per_s" : "samples_per_s";
  }
  if (std::find(columns.begin(), columns.end(), y) == columns.end()) {
    const std::string near = nearest_name(y, columns);
    throw InputError(
        Problem{"--chart-y", "", "\"" + y + "\" is not a column of the table",
                near.empty() ? "columns: " + joined(columns) : "did you mean " + near + "?"});
  }
  std::string name = std::filesystem::path(a.what.scenario).filename().string();
  if (const auto end = name.find(".scenario.json"); end != std::string::npos) name.resize(end);
  const std::string settings = joined(a.what.all_settings());
  write_chart(sweep_chart(table, variations, grid, y, a.title.empty() ? name : a.title,
                          "simulated by stepcast " + version() + ", engine " + a.engine +
                              (settings.empty() ? "" : "; " + settings)),
              a.chart);
}

int run(const SweepArguments& a) {
  const EngineKind engine = engine_from_text(a.engine);
  if (!a.chart.empty() && !a.chart.ends_with(".png") && !a.chart.ends_with(".svg"))
    throw InputError(Problem{"--chart", "", a.chart + " ends in neither .png nor .svg", ""});
  std::vector<Variation> variations;
  for (const std::string& text : a.vary) variations.push_back(variation_of(text));
  refuse_repeated(variations);
  const std::vector<GridPoint> grid = grid_of(variations);
  SweepTable table(a.output, variations, fingerprint_of(a, variations, grid.front()));

  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < grid.size(); ++i)
    if (!table.has(grid[i])) open.push_back(i);
  const int jobs =
      a.jobs > 0 ? a.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Progress progress(grid.size(), grid.size() - open.size());
  std::vector<std::string> deaths;
  bool was_killed = false;
  const bool is_complete = run_in_processes(
      open, jobs,
      [&](std::size_t i) {
        return simulated_point(a.what, engine, settings_of(variations, grid[i]));
      },
      [&](const WorkerAnswer& answer) {
        progress.step();
        const std::string point = joined(settings_of(variations, grid[answer.task]));
        if (!answer.death.empty()) {
          deaths.push_back(point + ": the simulation " + answer.death);
          was_killed = was_killed || answer.was_killed;
          return;
        }
        const PointFigures result = point_figures(answer.text);
        table.add(grid[answer.task], result.status, result.figures);
      });
  progress.finish();
  if (!is_complete) {
    fmt::print(
        stderr,
        "stepcast: stopped; finished points are in {} and the same command goes on from there\n",
        a.output);
    return kStoppedBySignal;
  }
  table.sort_by(grid);
  std::size_t good = 0;
  std::vector<std::string> refused;
  std::map<std::string, std::vector<std::string>> points_of;  // by the reason why they were refused
  for (const GridPoint& point : grid) {
    if (!table.has(point)) continue;
    if (table.status(point) == "ok") {
      ++good;
      continue;
    }
    const std::string settings = joined(settings_of(variations, point));
    refused.push_back(settings + ": " + table.status(point));
    points_of[table.status(point)].push_back(settings);
  }
  if (!a.chart.empty()) draw(a, table, variations, grid);
  if (a.is_json)
    fmt::print("{}\n", Json{{"stepcast", 1},
                            {"kind", "sweep"},
                            {"table", a.output},
                            {"chart", a.chart},
                            {"points", grid.size()},
                            {"simulated_now", open.size() - deaths.size()},
                            {"good", good},
                            {"refused", refused},
                            {"died", deaths}}
                           .dump(2));
  else
    fmt::print("{}: {} points, {} simulated now, {} good, {} refused{}\n", a.output, grid.size(),
               open.size() - deaths.size(), good, refused.size(),
               a.chart.empty() ? "" : "; chart " + a.chart);
  // A fault of the base scenario is told once, not for every point.
  for (const auto& [reason, points] : points_of)
    if (points.size() == 1)
      fmt::print(stderr, "refused: {}: {}\n", points.front(), reason);
    else
      fmt::print(stderr, "refused: {} points, {} the first and {} the last: {}\n", points.size(),
                 points.front(), points.back(), reason);
  for (const std::string& line : deaths) fmt::print(stderr, "stepcast: {}\n", line);
  if (!deaths.empty()) return was_killed ? kEnvironment : kOurFault;
  return good == 0 ? kBadInput : kGood;
}
}  // namespace

void add_sweep_command(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<SweepArguments>();
  CLI::App& command = *app.add_subcommand(
      "sweep",
      "simulate a grid of scenarios into a CSV table and a chart; goes on where it was stopped");
  a->what.add_to(command);
  add_engine_option(command, a->engine);
  command
      .add_option(
          "--vary", a->vary,
          "values of one axis: /json/pointer=a,b,c or lo..hi or lo..hi*factor; repeat for a grid")
      ->required()
      ->type_name("POINTER=VALUES")
      ->type_size(1)
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  command
      .add_option("-j,--jobs", a->jobs,
                  "simulations at a time, each in its own process [one per core]")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
  command.add_option("-o,--output", a->output, "the table; one line per finished point")
      ->capture_default_str()
      ->type_name("CSV");
  command.add_option("--chart", a->chart, "draw the table as .png or .svg: x is the first --vary")
      ->type_name("FILE");
  command.add_option("--chart-y", a->chart_y, "column to draw [tokens_per_s, or samples_per_s]")
      ->type_name("COLUMN");
  command.add_option("--title", a->title, "title of the chart [the scenario's name]")
      ->type_name("TEXT");
  command.add_flag("--json", a->is_json, "print a summary as one JSON document and nothing else");
  command.callback([a, &exit_code] { exit_code = run(*a); });
}
}  // namespace stepcast
