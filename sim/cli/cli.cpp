#include "sim/cli/cli.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "sim/cli/commands.hpp"
#include "sim/core/assert.hpp"
#include "sim/core/result.hpp"
#include "sim/import/command/import_command.hpp"
#include "sim/report/report.hpp"
#include "sim/validate/validate_command.hpp"

namespace stepcast {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

int refuse(const std::string& sentence) {
  fmt::print(stderr, "stepcast: {}\n", sentence);
  return kBadInput;
}

/// One sentence for whatever CLI11 did not like, with the nearest flag.
int refuse_arguments(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string where = chosen.empty() ? "" : command.get_name() + ": ";
  const std::string help =
      "; see stepcast " + (chosen.empty() ? "" : command.get_name() + " ") + "--help";
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    std::vector<std::string> extras = command.remaining(true);
    if (extras.empty()) extras = app.remaining(true);
    const std::string extra = extras.empty() ? "" : extras.front();
    if (!extra.starts_with('-'))
      return refuse(where + "\"" + extra + "\" is one argument too many" + help);
    const std::string near = nearest_name(extra.substr(0, extra.find('=')), flag_names(command));
    return refuse(where + extra + " is not a flag" +
                  (near.empty() ? help : "; did you mean " + near + "?"));
  }
  std::string sentence = error.what();
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  return refuse(where + sentence + help);
}

int parse_and_run(const std::vector<std::string>& arguments) {
  CLI::App app{
      "Forecasts distributed training: how long a step is, what fills it and where scaling stops.",
      "stepcast"};
  app.set_version_flag("--version", version());
  app.require_subcommand(0, 1);
  app.footer(
      "Exit codes: 0 good, 1 a fault of stepcast, 2 bad input, 3 environment. Times in seconds, "
      "memory in GiB (2^30),\n"
      "rates in GB/s (1e9) unless a name says otherwise. Presets: stepcast list models, and so "
      "on.");
  int exit_code = kGood;
  add_simulate_command(app, exit_code);
  add_sweep_command(app, exit_code);
  add_stragglers_command(app, exit_code);
  add_check_command(app, exit_code);
  add_list_command(app, exit_code);
  add_converge_command(app, exit_code);
  add_compare_command(app, exit_code);
  add_calibrate_command(app, exit_code);
  add_validate_command(app, exit_code);
  add_import_command(app, exit_code);
  add_replay_command(app, exit_code);
  add_export_command(app, exit_code);
  add_report_command(app, exit_code);

  if (!arguments.empty() && !arguments[0].starts_with('-')) {
    const auto known = command_names(app);
    if (std::find(known.begin(), known.end(), arguments[0]) == known.end()) {
      const std::string near = nearest_name(arguments[0], known);
      return refuse("\"" + arguments[0] + "\" is not a command; " +
                    (near.empty() ? "commands: " + joined(known) : "did you mean " + near + "?"));
    }
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(),
                                      arguments.rend());  // CLI11 pops from the end
    app.parse(std::move(reversed));
    if (app.get_subcommands().empty()) {
      fmt::print("{}", app.help());
      return arguments.empty() ? kBadInput : kGood;
    }
    return exit_code;
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e) == 0 ? kGood : kOurFault;
  } catch (const CLI::ParseError& e) {
    return refuse_arguments(app, e);
  }
}
}  // namespace

int run_command_line(const std::vector<std::string>& arguments) {
  try {
    const int code = parse_and_run(arguments);
    if (std::fflush(stdout) != 0) {
      fmt::print(stderr, "stepcast: the output cannot be written\n");
      return kEnvironment;
    }
    return code;
  } catch (const InputError& e) {
    fmt::print(stderr, "{}\n", e.problems.text());
    if (e.problems.size() > 1) fmt::print(stderr, "stepcast: {} problems\n", e.problems.size());
    return kBadInput;
  } catch (const EnvironmentError& e) {
    fmt::print(stderr, "stepcast: {}\n", e.what());
    return kEnvironment;
  } catch (const std::system_error& e) {  // standard output on a full disk, for one
    fmt::print(stderr, "stepcast: {}\n", e.what());
    return kEnvironment;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "stepcast: out of memory\n");
    return kEnvironment;
  } catch (const std::exception& e) {
    fmt::print(stderr, "stepcast: a fault of stepcast, please report it: {}\n", e.what());
    return kOurFault;
  }
}
}  // namespace stepcast
