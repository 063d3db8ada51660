#include "calibrate/suites/calibration.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "calibrate/collectives/collective_tasks.hpp"
#include "calibrate/compressors/compressor_tasks.hpp"
#include "calibrate/disk/disk_tasks.hpp"
#include "calibrate/measure/progress.hpp"
#include "calibrate/profile/build_profile.hpp"
#include "calibrate/step/step_tasks.hpp"
#include "calibrate/suites/step_document.hpp"
#include "runtime/launch/tcp_store.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/profile/text_of_profile.hpp"

namespace stepcast::calibrate {
namespace {
void append(std::vector<Task>& to, std::vector<Task> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

Depth depth_of(const CalibrationOptions& options) {
  return std::find(options.suites.begin(), options.suites.end(), "full") != options.suites.end()
             ? Depth::full
             : Depth::quick;
}

/// Every scheme; what a step itself uses is measured with the step, in its own bucket sizes.
std::vector<Task> compressor_suite(Depth depth) {
  const std::vector<std::int64_t> sizes =
      depth == Depth::quick ? std::vector<std::int64_t>{1 << 20, 4 << 20}
                            : std::vector<std::int64_t>{256 << 10, 1 << 20, 4 << 20, 16 << 20};
  std::vector<Task> tasks;
  for (const runtime::CompressorChoice& choice : every_compressor())
    append(tasks, compressor_tasks(choice, sizes));
  return tasks;
}

std::vector<Task> tasks_of(const CalibrationOptions& options, int ranks, const Scenario& scenario,
                           const std::string& folder) {
  std::set<std::string> suites(options.suites.begin(), options.suites.end());
  Problems problems;
  for (const std::string& name : suites)
    if (const auto known = suite_names();
        std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string near = nearest_name(name, known);
      problems.add({"command line", "--suite", "\"" + name + "\" is not one of " + joined(known),
                    near.empty() ? "" : "did you mean \"" + near + "\"?"});
    }
  if (!problems.empty()) throw InputError(problems);
  const Depth depth = depth_of(options);
  const bool all = suites.contains("full") || suites.contains("quick");
  const Precision precision = scenario.training.precision;
  std::vector<Task> tasks;
  append(tasks, launch_tasks());
  if (all || suites.contains("kernels")) {
    append(tasks, gemm_tasks(depth, precision));
    append(tasks, attention_tasks(depth, precision));
    append(tasks, stream_tasks(depth));
  }
  if (all || suites.contains("collectives")) {
    append(tasks, collective_tasks(depth, ranks));
    append(tasks, overlap_tasks(ranks));
  }
  if (suites.contains("full") || suites.contains("compressors"))
    append(tasks, compressor_suite(depth));
  if (all || suites.contains("io")) append(tasks, disk_tasks(depth, folder));
  if (all || suites.contains("step")) {
    tasks.push_back(step_task(scenario));
  }
  return tasks;
}

/// Rank 0 knows what its journal holds; the others follow it.
std::set<std::string> agreed_tasks(runtime::Store& store, int rank, const Journal* journal) {
  if (rank == 0) store.set("calibrate/done", joined(journal->tasks(), "\n"));
  std::set<std::string> done;
  const std::string text = store.get("calibrate/done");
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    done.insert(text.substr(from, to - from));
    from = to + 1;
  }
  return done;
}

Json measured_json(const std::vector<Entry>& entries) {
  Json parts = Json::object(), out = Json::object();
  for (const Entry& entry : entries) {
    const auto after = [&](const std::string& prefix) {
      return entry.key.starts_with(prefix) ? entry.key.substr(prefix.size()) : "";
    };
    if (const std::string part = after("step/part/"); !part.empty())
      parts[part] = entry.summary.median_s;
    if (entry.key == "step/measured")
      out["step_time_s"] = {{"p50", entry.summary.median_s},
                            {"q25", entry.summary.q25_s},
                            {"q75", entry.summary.q75_s},
                            {"n", entry.summary.n},
                            {"quality", text_of(entry.summary.quality)}};
    if (entry.key == "step/traced") out["traced_step_time_s"] = entry.summary.median_s;
    if (entry.key == "step/loss") out["loss"] = entry.summary.median_s;
  }
  if (!out.empty()) out["breakdown_s"] = parts;
  return out;
}

/// Same results only from the same machine, software, ranks, step, conditions and depth: a full
/// calibration does not take over what a quick one measured in a third of the time.
std::string identity_of(const CalibrationOptions& options, const runtime::DeviceInfo& info,
                        int ranks, const Json& document) {
  Json step = document;
  step.erase("cluster");
  std::string libraries;
  for (const auto& [name, version] : info.versions) libraries += ", " + version;
  return fmt::format("{}, {}{}, {} ranks, {}, {}{}, step {}", options.backend, info.name, libraries,
                     ranks, depth_of(options) == Depth::full ? "full depth" : "quick depth",
                     options.is_realtime ? "real-time priority" : "ordinary priority",
                     options.interface.empty() ? "" : ", interface " + options.interface,
                     step.dump());
}

/// Of what was sampled and occurs: not of single figures (a loss, a ratio), nor of the parts that
/// this step has none of.
void report_qualities(const std::vector<Entry>& entries) {
  std::map<std::string, int> count;
  std::vector<double> half_widths;
  for (const auto& [key, summary] : entries) {
    if (summary.n < 2 || summary.median_s == 0) continue;
    ++count[text_of(summary.quality)];
    half_widths.push_back(100 * summary.half_width);
  }
  std::string text;
  for (const char* quality : {"good", "unstable", "drifting", "bimodal"})
    if (count[quality] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count[quality], quality);
  fmt::print("measurements    {} ({})\n", half_widths.size(), text);
  // The marks say which measurements are in doubt; this says by how much.
  if (!half_widths.empty())
    fmt::print("their medians   half known to {:.1f} %, nine in ten to {:.1f} %\n",
               median(half_widths), quantile(half_widths, 0.9));
}
}  // namespace

std::vector<std::string> suite_names() {
  return {"quick", "full", "kernels", "collectives", "compressors", "step", "io"};
}
std::string stem_of(const std::string& path) {
  for (const char* ending : {".profile.json", ".json"})
    if (path.ends_with(ending)) return path.substr(0, path.size() - std::strlen(ending));
  return path;
}

void calibrate(const CalibrationOptions& options, const runtime::RankPlace& place) {
  const auto backend = runtime::backend_of(options.backend);
  if (options.is_realtime) {
    // Inherited by every thread made from here on; communication streams go one level up
    // (runtime/cpu/cpu_stream.cpp).
    const sched_param parameter{.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR, &parameter) != 0)
      throw EnvironmentError(
          fmt::format("--realtime: {}; it needs root or CAP_SYS_NICE", std::strerror(errno)));
  }
  const auto device = backend->open(place.local_rank);
  std::unique_ptr<runtime::Store> store;
  runtime::TcpStore* network = nullptr;
  if (place.size > 1) {
    auto tcp = std::make_unique<runtime::TcpStore>(place, options.time_limit);
    network = tcp.get();
    store = std::move(tcp);
  } else {
    store = runtime::new_local_store(options.time_limit);
  }
  try {
    Json document = step_document(options.scenario, options.model, options.settings, place.size);
    const Scenario scenario = scenario_of_step(document, options.scenario);
    if (scenario.parallel.world() != place.size)
      throw InputError(Problem{
          options.scenario.empty() ? "the calibration's step" : options.scenario, "/parallel",
          fmt::format("lays out {} ranks, {} are running", scenario.parallel.world(), place.size),
          fmt::format("--ranks {}, or change dp", scenario.parallel.world())});
    const std::string stem = stem_of(options.output);
    std::optional<Journal> journal;
    if (place.rank == 0)
      journal.emplace(stem + ".journal.jsonl",
                      identity_of(options, device->info(), place.size, document));
    const std::size_t slash = stem.rfind('/');
    const std::vector<Task> tasks = tasks_of(
        options, place.size, scenario, slash == std::string::npos ? "." : stem.substr(0, slash));
    const std::set<std::string> done =
        agreed_tasks(*store, place.rank, journal ? &*journal : nullptr);

    const auto world = backend->new_communicator(*device, *store,
                                                 {.name = "calibrate",
                                                  .rank = place.rank,
                                                  .size = place.size,
                                                  .time_limit = options.time_limit,
                                                  .interface = options.interface});
    const auto compute = device->new_stream("measured compute"),
               side = device->new_stream("measured side", runtime::StreamPriority::high);
    Bench bench{*backend,           *device, *store, *world, *compute, *side, options.interface,
                options.time_limit, {}};
    // Quick: 100 samples of a kernel of 1 ms, whose median is known to 2 % where they scatter by 8
    // % (1.96 * 1.253 * 8 % / sqrt(100)).
    if (depth_of(options) == Depth::quick) bench.rule.max_time_s = 0.1;

    const auto already = static_cast<std::size_t>(std::count_if(
        tasks.begin(), tasks.end(), [&](const Task& task) { return done.contains(task.name); }));
    Progress progress(tasks.size(), already, place.rank == 0 && !options.is_json);
    for (const Task& task : tasks) {
      if (done.contains(task.name)) continue;
      progress.start(task.name);
      world->barrier();
      std::vector<Entry> entries = task.measure(bench);
      if (journal) journal->add(task.name, entries);
      progress.finish();
    }
    world->barrier();
    if (place.rank != 0) return;

    const std::vector<Entry> entries = journal->entries();
    const std::string name = stem.substr(slash == std::string::npos ? 0 : slash + 1);
    const Profile profile = build_profile(
        entries, {.profile_name = name,
                  .device = device->info(),
                  .backend = options.backend,
                  .ranks = place.size,
                  .conditions = options.is_realtime ? "real-time priority" : "ordinary priority"});
    write_file(options.output, text_of_profile(profile));
    set_cluster(document, profile, place.size);
    document["profile"] =
        "./" +
        options.output.substr(slash == std::string::npos ? 0 : slash + 1);  // beside the scenario
    write_file(stem + ".scenario.json", document.dump(2) + "\n");
    const Json measured = measured_json(entries);
    if (!measured.empty()) write_file(stem + ".measured.json", measured.dump(2) + "\n");
    if (options.is_json) {
      fmt::print("{}\n", Json({{"profile", options.output},
                               {"entries", entries.size()},
                               {"resumed", journal->resumed()},
                               {"measured", measured}})
                             .dump(2));
    } else {
      report_qualities(entries);
      fmt::print("written         {0}, {1}.scenario.json{2}\n", options.output, stem,
                 measured.empty() ? "" : ", " + stem + ".measured.json");
    }
  } catch (const std::exception& error) {
    if (network != nullptr) network->report_failure(error.what());
    throw;
  }
}
}  // namespace stepcast::calibrate
