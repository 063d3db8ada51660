#include "sim/cli/scenario_argument.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/core/result.hpp"

namespace stepcast {
namespace fs = std::filesystem;
namespace {
/// Parts of a scenario that only the profile can judge.
Problems faults_of_profile_use(const Scenario& s, const Profile& profile) {
  Problems problems;
  std::vector<std::string> frameworks;
  for (const auto& [name, fit] : profile.kernels.host) frameworks.push_back(name);
  if (!frameworks.empty() && !s.collective_sweep &&
      !profile.kernels.host.contains(s.strategy.framework)) {
    const std::string near = nearest_name(s.strategy.framework, frameworks);
    problems.add(
        {s.file, "/strategy/framework",
         "profile " + profile.name + " has no host cost for \"" + s.strategy.framework + "\"",
         near.empty() ? "it has " + joined(frameworks) : "did you mean \"" + near + "\"?"});
  }
  return problems;
}
}  // namespace

void ScenarioArguments::add_to(CLI::App& command) {
  command
      .add_option("scenario", scenario,
                  "scenario file, or the name of a bundled job (stepcast list jobs)")
      ->required()
      ->type_name("FILE|JOB");
  command
      .add_option("--set", settings,
                  "change one value: /json/pointer=value, value in JSON or plain text; repeatable")
      ->type_name("POINTER=VALUE")
      ->type_size(1)
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  command
      .add_option("--profile", profile, "cost profile, a file or a bundled name [the GPU's own]")
      ->type_name("FILE|NAME");
  command.add_option("--seed", seed, "seed of jitter and random placement [/run/seed, 1]")
      ->type_name("N");
  command.add_option("--runs", runs, "runs with fresh random numbers [/run/runs, 1]")
      ->type_name("N");
  command.add_option("--steps", steps, "steps per run [/run/steps, 1]")->type_name("N");
}

std::vector<std::string> ScenarioArguments::all_settings() const {
  std::vector<std::string> all = settings;
  // Quoted, so that a profile called 100 stays a text.
  if (!profile.empty()) all.push_back("/profile=\"" + profile + "\"");
  if (seed) all.push_back(fmt::format("/run/seed={}", *seed));
  if (runs) all.push_back(fmt::format("/run/runs={}", *runs));
  if (steps) all.push_back(fmt::format("/run/steps={}", *steps));
  return all;
}

std::string ScenarioArguments::path() const {
  std::error_code error;
  if (fs::exists(scenario, error) || scenario.find('/') != std::string::npos) return scenario;
  const fs::path job = fs::path(scenarios_folder()) / "jobs" / (scenario + ".scenario.json");
  return fs::exists(job, error) ? job.string() : scenario;
}

void add_engine_option(CLI::App& command, std::string& engine) {
  command
      .add_option("--engine", engine,
                  "simgrid (reference), native (own max-min, faster) or analytic (no contention)")
      ->capture_default_str()
      ->type_name("NAME");
}

void default_straggler_steps(Scenario& scenario) {
  constexpr int kDefaultSteps = 30;
  if (scenario.run.steps == 1 && !scenario.stragglers.empty()) scenario.run.steps = kDefaultSteps;
}

EngineKind engine_from_text(const std::string& text) {
  if (const auto kind = enum_from_text<EngineKind>(text)) return *kind;
  const auto known = enum_texts<EngineKind>();
  const std::string near = nearest_name(text, known);
  throw InputError(Problem{"--engine", "", "\"" + text + "\" is not one of " + joined(known),
                           near.empty() ? "" : "did you mean " + near + "?"});
}

Prepared prepared(const ScenarioArguments& arguments,
                  const std::vector<std::string>& more_settings) {
  std::vector<std::string> settings = arguments.all_settings();
  settings.insert(settings.end(), more_settings.begin(), more_settings.end());
  Prepared p{load_scenario(arguments.path(), settings).value_or_throw(), {}};
  p.profile = profile_of(p.scenario).value_or_throw();
  if (const Problems faults = faults_of_profile_use(p.scenario, p.profile); !faults.empty())
    throw InputError(faults);
  return p;
}
}  // namespace stepcast
