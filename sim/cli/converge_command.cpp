#include <fmt/format.h>

#include <map>
#include <memory>
#include <thread>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/converge_report.hpp"
#include "sim/cli/grid.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/scenario_argument.hpp"
#include "sim/io/files.hpp"
#include "sim/io/json.hpp"

namespace stepcast {
namespace {
constexpr std::size_t kMostPoints = 200;  // each is trained by several seeds

struct ConvergeArguments {
  ScenarioArguments what;
  std::vector<std::string> vary;
  std::string folder;
  int jobs = 0;
  bool is_json = false;
};

std::string joined_with_commas(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

ConvergePoint planned(const ConvergeArguments& a, const std::vector<std::string>& settings) {
  Prepared p = prepared(a.what, settings);
  if (p.scenario.collective_sweep)
    throw InputError(Problem{p.scenario.file, "/collective", "a sweep of sizes trains nothing",
                             "use stepcast simulate"});
  default_straggler_steps(p.scenario);
  // The native engine may run many scenarios in one process; it agrees with simgrid to 1e-9.
  const Forecast forecast =
      simulate(p.scenario, p.profile, {.engine = EngineKind::native, .execute = {}});
  return {.name = joined_with_commas(settings), .plan = converge_plan(p.scenario, forecast)};
}

/// Two points with the same task share its data.
std::string task_key(const ConvergenceSpec& spec) {
  return fmt::format("{} {} {}", text_of(spec.task), spec.corpus, text_of(spec.batch_norm));
}
/// Everything that a plain lockstep training depends on.
std::string plain_key(const runtime::TrainingSetup& t) {
  const ConvergenceSpec& c = t.spec;
  return fmt::format("{} w{} b{} a{} {} {} {} {} {} {} {} {} {} {} {}", task_key(c),
                     t.order.workers, c.worker_batch, c.accumulation, text_of(c.optimizer),
                     c.learning_rate.value_or(-1), c.base_batch, text_of(c.rule), c.warmup_steps,
                     c.momentum, c.clip_norm, c.skew, c.steps, c.seeds,
                     c.target_loss.value_or(-1)) +
         fmt::format(" s{}", t.seed);
}

int run(const ConvergeArguments& a) {
  std::vector<Variation> variations;
  for (const std::string& text : a.vary) variations.push_back(variation_of(text));
  const std::vector<GridPoint> grid = grid_of(variations);
  if (grid.size() > kMostPoints)
    throw InputError(Problem{"--vary", "", fmt::format("asks for {} trainings", grid.size()),
                             fmt::format("at most {}", kMostPoints)});

  std::vector<ConvergePoint> points;
  for (const GridPoint& point : grid) points.push_back(planned(a, settings_of(variations, point)));

  std::map<std::string, std::unique_ptr<runtime::LearningTask>> tasks;
  std::map<std::string, std::size_t> plains;
  std::vector<runtime::TrainingSetup> setups;
  for (ConvergePoint& point : points) {
    auto& task = tasks[task_key(point.plan.training.spec)];
    if (point.plan.training.spec.task != points.front().plan.training.spec.task)
      throw InputError(Problem{"--vary", "/converge/task", "losses of two tasks do not compare",
                               "run the command once for each"});
    if (!task)
      task = std::make_unique<runtime::LearningTask>(runtime::new_task(point.plan.training.spec));
    point.plan.training.task = task.get();
    const auto [plain, is_new] = plains.emplace(plain_key(point.plan.training), setups.size());
    if (is_new) setups.push_back(plain_training(point.plan.training));
    point.plain = plain->second;
    const bool is_plain = point.plan.training.order.kind == runtime::UpdateKind::lockstep &&
                          point.plan.training.order.entries.empty() &&
                          !point.plan.training.compressor;
    point.result = is_plain ? point.plain : setups.size();
    if (!is_plain) setups.push_back(point.plan.training);
  }
  std::size_t trainings = 0;
  for (const runtime::TrainingSetup& setup : setups)
    trainings += static_cast<std::size_t>(setup.spec.seeds);
  Progress progress(trainings, 0);
  const int jobs =
      a.jobs > 0 ? a.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto results = runtime::study(setups, jobs, [&] { progress.step(); });
  progress.finish();

  const runtime::LearningTask& task = *points.front().plan.training.task;
  const Json report = converge_json(a.what.path(), task, points, results);
  if (!a.folder.empty()) {
    write_file(a.folder + "/convergence.json", report.dump(2) + "\n");
    write_file(a.folder + "/curves.csv", curves_csv(points, results));
    write_curves_chart(a.folder + "/curves.png",
                       "Learning under the scenario's synchronisation and compression", task,
                       points, results);
  }
  if (a.is_json)
    fmt::print("{}\n", report.dump(2));
  else
    fmt::print("{}", converge_text(report));
  if (!a.folder.empty() && !a.is_json)
    fmt::print("written {0}/convergence.json, {0}/curves.csv, {0}/curves.png\n", a.folder);
  return kGood;
}
}  // namespace

void add_converge_command(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<ConvergeArguments>();
  CLI::App& command =
      *app.add_subcommand("converge",
                          "train a small model with the scenario's workers, synchronisation, "
                          "staleness and compression: steps and time to a target loss");
  a->what.add_to(command);
  command
      .add_option(
          "--vary", a->vary,
          "values of one axis: /json/pointer=a,b,c or lo..hi or lo..hi*factor; repeat for a grid")
      ->type_name("POINTER=VALUES")
      ->type_size(1)
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  command.add_option("-j,--jobs", a->jobs, "trainings at a time [one per core]")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command
      .add_option("-o,--output", a->folder,
                  "folder for convergence.json, curves.csv and curves.png [none written]")
      ->type_name("DIR");
  command.add_flag("--json", a->is_json, "print the report as one JSON document and nothing else");
  command.callback([a, &exit_code] { exit_code = run(*a); });
}
}  // namespace stepcast
