#include "sim/import/command/k8s_import.hpp"

#include <fmt/format.h>

#include "sim/core/result.hpp"
#include "sim/io/files.hpp"
#include "sim/io/json.hpp"

namespace stepcast {
namespace {
std::string lines_of(const char* title, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string text = std::string(title) + "\n";
  for (const std::string& sentence : sentences) text += "  " + sentence + "\n";
  return text;
}

std::string text_of_import(const K8sArguments& a, const k8s::ImportedJob& job) {
  std::string text = fmt::format("{}: {} \"{}\"\n", a.file, job.kind, job.name);
  text += lines_of("Read:", job.read);
  text += lines_of("Not said; taken so:", job.assumed);
  text += lines_of("Not known; stepcast's defaults stand in (--set changes them):", job.unknown);
  if (!job.unused.empty()) text += "Without effect on a step: " + joined(job.unused) + "\n";
  return text;
}
}  // namespace

void add_k8s_options(CLI::App& command, K8sArguments& a) {
  command
      .add_option("--cluster", a.options.cluster,
                  "k8s: cluster preset [by the node labels of the pods]")
      ->type_name("NAME");
  command.add_option("--model", a.options.model, "k8s: model preset [by the command's flags]")
      ->type_name("NAME");
  command
      .add_option("--job", a.options.job, "k8s: metadata.name, where the file holds several jobs")
      ->type_name("NAME");
  command
      .add_option("--set", a.options.settings, "k8s: change one value of the scenario; repeatable")
      ->type_name("POINTER=VALUE")
      ->type_size(1)
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
}

int import_manifest(const K8sArguments& a) {
  for (const std::string& path : a.outputs)
    if (!path.ends_with(".json") || path.ends_with(".profile.json") ||
        path.find(".workload.json") != std::string::npos)
      throw InputError(
          Problem{path, "", "a manifest becomes a scenario", "end the name in .scenario.json"});
  const k8s::ImportedJob job = k8s::import_job(a.file, a.options);
  for (const std::string& path : a.outputs) write_file(path, job.scenario.dump(2) + "\n");
  if (a.is_json) {
    fmt::print("{}\n", Json{{"stepcast", 1},
                            {"kind", "k8s_import"},
                            {"file", a.file},
                            {"job", {{"kind", job.kind}, {"name", job.name}}},
                            {"scenario", job.scenario},
                            {"read", job.read},
                            {"assumed", job.assumed},
                            {"unknown", job.unknown},
                            {"unused", job.unused}}
                           .dump(2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  fmt::print("{}", text_of_import(a, job));
  if (a.outputs.empty())
    fmt::print("{}\n", job.scenario.dump(2, ' ', false, Json::error_handler_t::replace));
  for (const std::string& path : a.outputs) fmt::print("wrote {}\n", path);
  return 0;
}
}  // namespace stepcast
