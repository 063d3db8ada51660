#include "calibrate/cli/measure_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>

#include "calibrate/suites/calibration.hpp"
#include "calibrate/suites/step_document.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/launch/spawn.hpp"
#include "sim/io/json.hpp"

namespace stepcast::calibrate {
namespace {
Json json_of(const runtime::ProbeReport& report) {
  Json items = Json::array(), devices = Json::array();
  for (const runtime::ProbeItem& item : report.items)
    items.push_back({{"part", item.part},
                     {"present", item.is_present},
                     {"found", item.found},
                     {"consequence", item.consequence}});
  for (const runtime::DeviceInfo& device : report.devices) {
    Json versions = Json::object();
    for (const auto& [name, version] : device.versions) versions[name] = version;
    devices.push_back({{"name", device.name},
                       {"architecture", device.architecture},
                       {"compute_units", device.compute_units},
                       {"memory_GiB", static_cast<double>(device.memory.value) / 1073741824.0},
                       {"clock_MHz", device.clock_MHz},
                       {"versions", versions}});
  }
  return {
      {"backend", report.backend}, {"usable", report.is_usable},        {"missing", report.missing},
      {"remedy", report.remedy},   {"alternative", report.alternative}, {"parts", items},
      {"devices", devices}};
}

int probe(const std::string& wanted, bool is_json) {
  std::vector<std::string> names =
      wanted.empty() ? runtime::backend_names() : std::vector<std::string>{wanted};
  Json list = Json::array();
  bool is_usable = true;
  for (const std::string& name : names) {
    const runtime::ProbeReport report = runtime::backend_of(name)->probe();
    is_usable = is_usable && report.is_usable;
    list.push_back(json_of(report));
    if (is_json) continue;
    fmt::print("backend {}: {}\n", name, report.is_usable ? "usable" : "not usable");
    for (const runtime::DeviceInfo& device : report.devices)
      fmt::print("  device        {}, {}, {:.1f} GiB\n", device.name, device.architecture,
                 static_cast<double>(device.memory.value) / 1073741824.0);
    for (const runtime::ProbeItem& item : report.items)
      fmt::print("  {:<16}{} {}{}\n", item.part, item.is_present ? "yes," : "no, ", item.found,
                 item.consequence.empty() ? "" : " -> " + item.consequence);
    if (!report.is_usable && wanted.empty())
      fmt::print("  {}\n  {}\n", report.missing, report.remedy);
  }
  if (is_json) fmt::print("{}\n", list.dump(2));
  // Asked for one backend that is not there: three lines and the environment's exit code.
  if (!wanted.empty() && !is_usable) {
    const Json& report = list.front();
    fmt::print(stderr, "{}\n{}\n{}\n", report["missing"].get<std::string>(),
               report["remedy"].get<std::string>(), report["alternative"].get<std::string>());
    return 3;
  }
  return 0;
}

/// Several ranks at real-time priority must leave a core free. Gloo's I/O thread spins while a
/// caller holds its lock; with every core taken by such threads and by products the holder never
/// runs again (runtime/cpu/thread_level.hpp), nor does the system's own network thread.
void check_realtime(int ranks_here) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (ranks_here < 2 || ranks_here < cores) return;
  throw InputError(Problem{
      "command line", "--realtime",
      fmt::format("would give {} ranks at real-time priority all of {} cores, and they would stall",
                  ranks_here, cores),
      cores > 2 ? fmt::format("--ranks {}, or leave --realtime out", cores - 1)
                : std::string("--ranks 1, or leave --realtime out")});
}

int measure(CalibrationOptions options, int ranks, double time_limit_s,
            const std::vector<std::string>& arguments) {
  const runtime::RankPlace place =
      runtime::rank_place(runtime::process_environment).value_or_throw();
  const bool is_placed = place.source != "one rank";
  if (is_placed && ranks > 0 && ranks != place.size)
    throw InputError(
        Problem{"command line", "--ranks",
                fmt::format("is {}, but {} says {} ranks", ranks, place.source, place.size),
                "leave --ranks out"});
  options.time_limit = Seconds(time_limit_s);
  const bool starts_ranks = !is_placed && ranks > 1;
  // Under a launcher the last rank of a machine speaks for all of them.
  if (options.is_realtime) check_realtime(starts_ranks ? ranks : place.local_rank + 1);
  if (starts_ranks) {
    runtime::backend_of(options.backend)->open(0);  // what fails on every rank is said once, here
    return runtime::run_local_ranks(ranks, arguments);
  }
  calibrate(options, place);
  return 0;
}
}  // namespace

void add_probe_command(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::string backend;
    bool is_json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command =
      *app.add_subcommand("probe", "say what this machine can measure, and what is missing");
  command.add_option("--backend", arguments->backend, "cpu or cuda [both]")->type_name("NAME");
  command.add_flag("--json", arguments->is_json, "print one JSON document");
  command.callback(
      [arguments, &exit_code] { exit_code = probe(arguments->backend, arguments->is_json); });
}

void add_measure_command(CLI::App& app, const std::vector<std::string>& all, int& exit_code) {
  struct Arguments {
    CalibrationOptions options;
    int ranks = 0;
    double time_limit_s = 120;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App& command = *app.add_subcommand(
      "measure",
      "run the real work and write a cost profile; goes on where an interrupted run stopped");
  command.add_option("--backend", a->options.backend, "cpu or cuda")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--suite", a->options.suites, joined(suite_names()) + "; repeatable")
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--ranks", a->ranks,
                  "start so many ranks on this machine [1, or what torchrun, srun or mpirun say]")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command
      .add_option("--model", a->options.model,
                  "the training step to measure: " + joined(step_names()))
      ->capture_default_str()
      ->type_name("NAME")
      ->excludes(command
                     .add_option("--scenario", a->options.scenario,
                                 "the training step to measure, in place of --model")
                     ->type_name("FILE"));
  command
      .add_option("--set", a->options.settings, "/json/pointer=value on that scenario; repeatable")
      ->type_name("SETTING");
  command
      .add_option("--interface", a->options.interface,
                  "network interface or address of the collectives [the one that reaches rank 0]")
      ->type_name("NAME");
  command
      .add_option("--time-limit", a->time_limit_s,
                  "seconds that any wait for another rank may take")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str()
      ->type_name("S");
  command.add_flag(
      "--realtime", a->options.is_realtime,
      "real-time priority, for a machine that others use (root or CAP_SYS_NICE); several "
      "ranks need a core more than they are");
  command.add_flag("--json", a->options.is_json,
                   "print one JSON document at the end, and no progress");
  command
      .add_option("-o,--output", a->options.output,
                  "the profile; beside it P.scenario.json, P.measured.json, P.journal.jsonl")
      ->capture_default_str()
      ->type_name("P.profile.json");
  command.callback(
      [a, all, &exit_code] { exit_code = measure(a->options, a->ranks, a->time_limit_s, all); });
}
}  // namespace stepcast::calibrate
