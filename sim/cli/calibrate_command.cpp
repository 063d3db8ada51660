#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/io/json.hpp"
#include "sim/report/report.hpp"

extern char** environ;

/// A front for stepcast-calibrate, which measures and needs no simulator, closing the loop: the
/// step that was just measured is forecast from the pieces that were measured beside it.
namespace stepcast {
namespace {
namespace fs = std::filesystem;

std::string calibrate_binary() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {here / "stepcast-calibrate",
                               here / ".." / ".." / "calibrate" / "cli" / "stepcast-calibrate"})
    if (fs::exists(path, error)) return path.string();
  throw EnvironmentError("stepcast-calibrate is neither beside " + here.string() +
                         "/stepcast nor in the build tree; build or install that target");
}

/// Exit code of `stepcast-calibrate measure`. What it prints goes to our own stdout, or into
/// `printed` where that is given.
int run_calibrate(const std::vector<std::string>& arguments, std::string* printed) {
  const std::string binary = calibrate_binary();
  std::vector<std::string> all{binary, "measure"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int ends[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (printed != nullptr) {
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw EnvironmentError(fmt::format("pipe: {}", std::strerror(errno)));
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  }
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, binary.c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (printed != nullptr) {
    ::close(ends[1]);
    char block[4096];
    for (ssize_t got = 0; failed == 0 && ((got = ::read(ends[0], block, sizeof block)) > 0 ||
                                          (got < 0 && errno == EINTR));)
      if (got > 0) printed->append(block, static_cast<std::size_t>(got));
    ::close(ends[0]);
  }
  if (failed != 0) throw EnvironmentError(binary + " cannot be started: " + std::strerror(failed));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  throw EnvironmentError(
      fmt::format("stepcast-calibrate was ended by signal {}; run the same command again, finished "
                  "measurements are kept",
                  WTERMSIG(status)));
}

/// Value of -o or --output, in both spellings.
std::string output_of(const std::vector<std::string>& arguments) {
  std::string output = "cpu.profile.json";  // stepcast-calibrate's own default
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if ((a == "-o" || a == "--output") && i + 1 < arguments.size())
      output = arguments[i + 1];
    else if (a.starts_with("--output="))
      output = a.substr(std::strlen("--output="));
    else if (a.starts_with("-o") && a.size() > 2)
      output = a.substr(2);
  }
  return output;
}
std::string stem_of(const std::string& path) {
  for (const char* ending : {".profile.json", ".json"})
    if (path.ends_with(ending)) return path.substr(0, path.size() - std::strlen(ending));
  return path;
}

Json loop_closed(const std::string& output) {
  const std::string stem = stem_of(output);
  const Json measured = read_json_file(stem + ".measured.json").value_or_throw();
  const Scenario scenario = load_scenario(stem + ".scenario.json").value_or_throw();
  const Profile profile = read_profile(output).value_or_throw();
  const Forecast forecast = simulate(scenario, profile);
  const Json report = report_json(scenario, profile, forecast, {});
  Json out;
  const double predicted_s = report.at("step_time_s").at("p50").get<double>(),
               measured_s = measured.at("step_time_s").at("p50").get<double>();
  out["step"] = {{"predicted_s", predicted_s},
                 {"measured_s", measured_s},
                 {"error", predicted_s / measured_s - 1}};
  for (const auto& [category, seconds] : measured.at("breakdown_s").items())
    out["categories"][category] = {{"predicted_s", report.at("breakdown_s").at(category)},
                                   {"measured_s", seconds}};
  out["loss"] = measured.at("loss");
  return out;
}

void print_loop(const Json& loop) {
  fmt::print("\nthe measured step, forecast from the pieces measured beside it\n");
  fmt::print("{:<16}{:>12}{:>12}{:>10}\n", "", "predicted", "measured", "error");
  const Json& step = loop.at("step");
  fmt::print("{:<16}{:>9.2f} ms{:>9.2f} ms{:>+9.1f} %\n", "step",
             1e3 * step["predicted_s"].get<double>(), 1e3 * step["measured_s"].get<double>(),
             100 * step["error"].get<double>());
  for (const auto& [category, pair] : loop.at("categories").items()) {
    const double predicted = pair["predicted_s"].get<double>(),
                 measured = pair["measured_s"].get<double>();
    if (std::max(predicted, measured) > 0)
      fmt::print("  {:<14}{:>9.2f} ms{:>9.2f} ms\n", category, 1e3 * predicted, 1e3 * measured);
  }
}

int run(const std::vector<std::string>& arguments) {
  const auto has = [&](const char* flag) {
    return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
  };
  const bool is_json = has("--json");
  std::string printed;
  const int code = run_calibrate(arguments, is_json ? &printed : nullptr);
  const std::string output = output_of(arguments);
  const bool has_step = code == kGood && !has("--help") && !has("-h") &&
                        fs::exists(stem_of(output) + ".measured.json");  // not every suite has one
  if (!has_step) {
    fmt::print("{}", printed);
    return code;
  }
  const Json loop = loop_closed(output);
  if (is_json) {
    Json document = Json::parse(printed);
    document["forecast"] = loop;
    fmt::print("{}\n", document.dump(2));
  } else {
    print_loop(loop);
  }
  return kGood;
}
}  // namespace

void add_calibrate_command(CLI::App& app, int& exit_code) {
  CLI::App& command = *app.add_subcommand(
      "calibrate",
      "measure this machine into a cost profile, and forecast the step that was measured");
  command.prefix_command();
  command.set_help_flag();  // everything behind the name, --help too, goes to stepcast-calibrate
                            // measure
  command.callback([&command, &exit_code] { exit_code = run(command.remaining()); });
}
}  // namespace stepcast
