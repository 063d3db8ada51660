#include "sim/import/command/import_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "sim/core/counted.hpp"
#include "sim/core/result.hpp"
#include "sim/import/command/k8s_import.hpp"
#include "sim/import/command/load.hpp"
#include "sim/import/common/byte_source.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "sim/import/common/trace_timeline.hpp"
#include "sim/import/costs/kernel_samples.hpp"
#include "sim/import/replay/diagnosis.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/profile/text_of_profile.hpp"
#include "sim/timeline/chrome_trace.hpp"

namespace stepcast {
namespace {
struct ImportArguments {
  std::vector<std::string> words, outputs;
  std::string base;
  bool is_json = false, allow_partial = false;
  int ranks = 0, nodes = 0;
  std::vector<int> forecast_nodes;
  K8sArguments k8s;
};

Json json_of(const StepAccount& a) {
  return {{"step", a.number},
          {"period_s", a.period.value},
          {"kernel_span_s", a.kernel_span.value},
          {"compute_s", a.compute.value},
          {"communication_s", a.communication.value},
          {"exposed_communication_s", a.exposed_communication.value},
          {"copies_s", a.copies.value},
          {"gpu_idle_s", a.device_idle.value},
          {"kernels", a.kernels},
          {"collectives", a.collectives}};
}
Json json_of(const Loaded& loaded) {
  Json out{{"traces", Json::array()},    {"workloads", Json::array()},
           {"curves", Json::array()},    {"findings", Json::array()},
           {"diagnosis", Json::array()}, {"anomalies", loaded.anomalies.json()}};
  for (const RankTrace& t : loaded.traces) {
    Json steps = Json::array();
    for (const StepAccount& a : accounts_of(t)) steps.push_back(json_of(a));
    out["traces"].push_back({{"file", t.file},
                             {"format", t.format},
                             {"rank", t.rank},
                             {"world", t.world},
                             {"entries_read", t.entries_read},
                             {"entries_lost", t.entries_lost},
                             {"step_source", t.step_source},
                             {"steps", steps},
                             {"anomalies", t.anomalies.json()}});
  }
  for (const Workload& w : loaded.workloads)
    out["workloads"].push_back({{"origin", w.origin},
                                {"ranks", w.ranks.size()},
                                {"ops", w.op_count()},
                                {"steps", w.steps.size()},
                                {"notes", w.notes}});
  if (loaded.collectives) {
    for (const auto& c : loaded.collectives->curves) {
      Json points = Json::array();
      for (const auto& [size, time] : c.points) points.push_back({size.value, time.value});
      out["curves"].push_back({{"system", c.system},
                               {"collective", text_of(c.collective)},
                               {"nodes", c.nodes},
                               {"ranks", c.ranks},
                               {"is_suspect", c.is_suspect},
                               {"points_bytes_seconds", points}});
    }
    for (const auto& f : loaded.collectives->findings)
      out["findings"].push_back({{"name", f.name},
                                 {"severity", text_of(f.severity)},
                                 {"text", f.text},
                                 {"file", f.file}});
    for (const auto& a : loaded.collectives->anomalies.json()) out["anomalies"].push_back(a);
  }
  for (const DiagnosisLine& l : diagnosis_of(loaded.traces))
    out["diagnosis"].push_back({{"topic", l.topic},
                                {"severity", text_of(l.severity)},
                                {"text", l.text},
                                {"where", l.where}});
  return out;
}
std::string report_of(const Loaded& loaded, const std::string& base) {
  std::string out;
  Anomalies all = loaded.anomalies;
  for (const RankTrace& t : loaded.traces) {
    out +=
        fmt::format("{}: {}, {}{}{}, {} entries read, {} lost, {} ({})\n", t.file, t.format,
                    t.rank < 0 ? "rank not stated" : fmt::format("rank {}", t.rank),
                    t.world > 0 ? fmt::format(" of {}", t.world) : "",
                    t.devices.empty() || t.devices.front().empty() ? "" : ", " + t.devices.front(),
                    t.entries_read, t.entries_lost, counted(t.steps.size(), "step"), t.step_source);
    if (loaded.traces.size() <= 16) out += text_of(accounts_of(t));
    all.add(t.anomalies);
  }
  for (const Workload& w : loaded.workloads) {
    out += fmt::format("workload from {}: {}, {}, {}\n", w.origin, counted(w.ranks.size(), "rank"),
                       counted(w.op_count(), "op"), counted(w.steps.size(), "step"));
    for (const auto& note : w.notes) out += "  " + note + "\n";
  }
  if (loaded.collectives) out += nccl_tests::report_text(*loaded.collectives);
  std::optional<CollectiveProfile> profile;
  if (!loaded.traces.empty()) {
    Anomalies ignored;
    const auto samples = kernel_samples(loaded.traces, ignored);
    std::string device;
    for (const RankTrace& t : loaded.traces)
      if (!t.devices.empty() && device.empty()) device = t.devices.front();
    const std::string named = base.empty() ? bundled_profile_of(device) : base;
    if (!named.empty()) profile = base_profile(named).collectives;
    if (!samples.empty() && !named.empty())
      out += "\nKernels by shape, those with most time first:\n" +
             text_of(samples, base_profile(named), 8);
    if (const double issue = host_seconds_per_launch(loaded.traces); issue > 0)
      out += fmt::format("the host issues a launch every {:.1f} us (median)\n", issue * 1e6);
  }
  if (const auto lines = diagnosis_of(loaded.traces, profile ? &*profile : nullptr); !lines.empty())
    out += "\nDiagnosis:\n" + text_of(lines);
  if (!all.empty()) out += "\nOdd things met:\n" + all.text();
  return out;
}

/// Base profile of the GPU that was measured, unless one is named.
Profile base_of(const Loaded& loaded, const std::string& named) {
  if (!named.empty()) return base_profile(named);
  std::string device;
  for (const RankTrace& t : loaded.traces)
    if (!t.devices.empty() && device.empty()) device = t.devices.front();
  if (loaded.collectives)
    for (const auto& curve : loaded.collectives->curves)
      if (device.empty()) device = curve.device;
  const std::string found = bundled_profile_of(device);
  if (found.empty())
    throw InputError(Problem{
        "--base", "",
        device.empty() ? "the files do not name the GPU"
                       : "\"" + device + "\" has no bundled profile",
        "name the profile that the measurements extend (stepcast list profiles, or a file)"});
  return base_profile(found);
}
std::string name_of_profile(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.size() - std::string_view(".profile.json").size());
}
void write_profile(const std::string& path, const Loaded& loaded, const std::string& base,
                   Anomalies& anomalies) {
  if (loaded.traces.empty() && !loaded.collectives)
    throw InputError(
        Problem{path, "",
                "a profile comes from profiler traces or nccl-tests logs, and none was given", ""});
  const auto samples = kernel_samples(loaded.traces, anomalies);
  std::vector<CollectiveCurve> curves = collective_curves(loaded.traces);
  std::size_t multi_node = 0;
  if (loaded.collectives) {
    for (const CollectiveCurve& curve : nccl_tests::profile_of(loaded.collectives->curves).curves)
      curves.push_back(curve);
    for (const auto& curve : loaded.collectives->curves) multi_node += curve.nodes > 1;
  }
  if (samples.empty() && curves.empty())
    throw InputError(Problem{path, "",
                             "holds nothing that a profile keeps: no product, convolution or "
                             "attention with recorded shapes, no collective inside one node",
                             "record with record_shapes=True"});
  anomalies.add("multi_node_curve_not_kept", Severity::info,
                "curves over several nodes depend on the cluster's network, which a GPU's profile "
                "does not hold: write them to a .csv",
                path, static_cast<std::int64_t>(multi_node));
  const Profile from = base_of(loaded, base);
  write_file(path, text_of_profile(
                       extended(from, samples, curves, name_of_profile(path),
                                fmt::format("{} kernels and {} collective curves imported over {}",
                                            samples.size(), curves.size(), from.name))));
}

void write_output(const std::string& path, const Loaded& loaded, const std::string& base,
                  Anomalies& anomalies) {
  if (path.find(".workload.json") != std::string::npos) {
    write_workload(workload_from(loaded, anomalies), path);
  } else if (path.ends_with(".profile.json")) {
    write_profile(path, loaded, base, anomalies);
  } else if (path.ends_with(".csv")) {
    if (!loaded.collectives)
      throw InputError(Problem{
          path, "", "a table of curves comes from nccl-tests logs, and none was given", ""});
    std::string csv = "system,collective,nodes,ranks,size_bytes,time_us,is_suspect\n";
    for (const auto& c : loaded.collectives->curves)
      for (const auto& [size, time] : c.points)
        csv += fmt::format("{},{},{},{},{},{:.4f},{}\n", c.system, text_of(c.collective), c.nodes,
                           c.ranks, size.value, time.value * 1e6, c.is_suspect ? 1 : 0);
    write_file(path, csv);
  } else if (path.ends_with(".json") || path.ends_with(".json.gz")) {
    if (!loaded.traces.empty())
      write_chrome_trace(timeline_of(loaded.traces), path);
    else
      write_chrome_trace(
          *replay(workload_from(loaded, anomalies), {.record_timeline = true}).timeline, path);
  } else {
    throw InputError(
        Problem{path, "", "the name does not say what to write",
                "end it in .workload.json.zst, .profile.json, .csv or .json.gz (a trace)"});
  }
}

/// A first word that is neither a kind nor a file was meant as a kind.
void refuse_unknown_kind(const std::vector<std::string>& words) {
  std::error_code error;
  const std::string& word = words.front();
  if (words.size() < 2 || kind_named(word) != ImportKind::unknown ||
      std::filesystem::exists(word, error) || word.find('/') != std::string::npos)
    return;
  const std::string near = nearest_name(word, kind_names());
  throw InputError(
      Problem{"import", "", "\"" + word + "\" is neither a kind nor a file",
              near.empty() ? "kinds are " + joined(kind_names()) : "did you mean " + near + "?"});
}

/// The manifest that is meant: named so, or one file found to be one.
bool is_manifest(const std::vector<std::string>& words) {
  if (kind_named(words.front()) == ImportKind::k8s && words.size() == 2) return true;
  std::error_code error;
  return words.size() == 1 && std::filesystem::is_regular_file(words.front(), error) &&
         kind_of(words.front()) == ImportKind::k8s;
}

/// Options of measurements beside a manifest, or of a manifest beside measurements, would do
/// nothing.
void refuse_foreign_options(const ImportArguments& a, bool is_manifest) {
  const bool has_measurement_options =
      !a.base.empty() || a.allow_partial || a.ranks > 0 || a.nodes > 0 || !a.forecast_nodes.empty();
  const k8s::ImportOptions& k8s = a.k8s.options;
  const bool has_manifest_options =
      !k8s.cluster.empty() || !k8s.model.empty() || !k8s.job.empty() || !k8s.settings.empty();
  if (is_manifest && has_measurement_options)
    throw InputError(Problem{a.words.back(), "",
                             "--base, --partial, --ranks, --nodes and --forecast-nodes have no "
                             "effect on a Kubernetes manifest",
                             "leave them out"});
  if (!is_manifest && has_manifest_options)
    throw InputError(Problem{a.words.front(), "",
                             "--cluster, --model, --job and --set have an effect on Kubernetes "
                             "manifests only",
                             "leave them out"});
}

int run(ImportArguments arguments) {
  refuse_unknown_kind(arguments.words);
  const bool is_k8s = is_manifest(arguments.words);
  refuse_foreign_options(arguments, is_k8s);
  if (is_k8s) {
    arguments.k8s.file = arguments.words.back();
    arguments.k8s.outputs = arguments.outputs;
    arguments.k8s.is_json = arguments.is_json;
    return import_manifest(arguments.k8s);
  }
  LoadOptions options{
      .allow_partial = arguments.allow_partial, .ranks = arguments.ranks, .nodes = arguments.nodes};
  if (arguments.words.size() > 1 && kind_named(arguments.words.front()) != ImportKind::unknown) {
    options.kind = kind_named(arguments.words.front());
    arguments.words.erase(arguments.words.begin());
  }
  const InputFiles files(arguments.words);
  const Loaded loaded = load(files, options, files.names_single_files());
  if (!arguments.forecast_nodes.empty() && !loaded.collectives)
    throw InputError(Problem{"--forecast-nodes", "", "needs nccl-tests logs, and none was given",
                             "stepcast replay --nodes answers it for a traced job"});
  const std::string forecast =
      arguments.forecast_nodes.empty()
          ? ""
          : nccl_tests::forecast_text(*loaded.collectives, arguments.forecast_nodes);
  Anomalies while_writing;
  for (const std::string& path : arguments.outputs)
    write_output(path, loaded, arguments.base, while_writing);
  if (arguments.is_json)
    fmt::print("{}\n", json_of(loaded).dump(2, ' ', false, Json::error_handler_t::replace));
  else {
    fmt::print("{}{}", report_of(loaded, arguments.base), forecast);
    for (const std::string& path : arguments.outputs) fmt::print("wrote {}\n", path);
    fmt::print("{}", while_writing.text());
  }
  return 0;
}
}  // namespace

void add_import_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App& command = *app.add_subcommand("import",
                                          "other people's measurements and job manifests into a "
                                          "profile, a trace, a workload or a scenario");
  command
      .add_option(
          "files", arguments->words,
          "[" + joined(kind_names(), "|") +
              "] then files, folders or tar archives; the kind is found by content when left out")
      ->required()
      ->type_name("[KIND] FILE...");
  command
      .add_option(
          "-o,--output", arguments->outputs,
          "what to write, by name: .workload.json.zst, .profile.json (collective curves), "
          ".csv (curves), .json.gz (Chrome trace); .scenario.json from a manifest; repeatable")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  command
      .add_option(
          "--base", arguments->base,
          "profile that a written .profile.json extends [the bundled one of the GPU in the files]")
      ->type_name("PROFILE");
  command.add_flag("--partial", arguments->allow_partial, "take what a file that breaks off holds");
  command.add_option("--ranks", arguments->ranks, "ranks of nccl-tests logs without rank lines")
      ->check(CLI::Range(1, 10'000'000))
      ->type_name("N");
  command.add_option("--nodes", arguments->nodes, "nodes of such logs [1]")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  command
      .add_option("--forecast-nodes", arguments->forecast_nodes,
                  "node counts whose collectives nccl-tests logs of other counts shall predict")
      ->check(CLI::Range(2, 1'000'000))
      ->excludes(command.add_flag("--json", arguments->is_json,
                                  "print one JSON document and nothing else"))
      ->type_name("N");
  add_k8s_options(command, arguments->k8s);
  command.callback([arguments, &exit_code] { exit_code = run(*arguments); });
}
}  // namespace stepcast
