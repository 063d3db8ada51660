#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/network.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
/// The arguments that say what is simulated; shared by simulate, sweep and check.
struct ScenarioArguments {
  std::string scenario;  // a file, or the name of a bundled job
  std::vector<std::string> settings;
  std::string profile;
  std::optional<std::int64_t> seed, runs, steps;

  void add_to(CLI::App& command);
  /// Flags as settings, in the order in which they apply: --set first, then the named flags.
  std::vector<std::string> all_settings() const;
  /// The file that `scenario` names.
  std::string path() const;
};

/// Adds --engine with its choices and default.
void add_engine_option(CLI::App& command, std::string& engine);
/// Where a scenario has stragglers and names no number of steps, 30: the spread of a step would
/// rest on one draw.
void default_straggler_steps(Scenario& scenario);
/// The engine named; InputError with the nearest name otherwise.
EngineKind engine_from_text(const std::string& text);

struct Prepared {
  Scenario scenario;
  Profile profile;
};
/// Scenario and profile, checked against each other. Throws InputError with every problem.
Prepared prepared(const ScenarioArguments& arguments,
                  const std::vector<std::string>& more_settings = {});
}  // namespace stepcast
