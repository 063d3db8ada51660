#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_argument.hpp"
#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/launch/launch_file.hpp"

namespace stepcast {
namespace {
struct ExportArguments {
  std::string target, output;
  ScenarioArguments what;
  launch::LaunchOptions options;
  bool is_json = false;
};

launch::Target target_named(const std::string& text) {
  if (const auto target = enum_from_text<launch::Target>(text)) return *target;
  const auto known = enum_texts<launch::Target>();
  const std::string near = nearest_name(text, known);
  throw InputError(Problem{"export", "", "\"" + text + "\" is not one of " + joined(known),
                           near.empty() ? "" : "did you mean " + near + "?"});
}

/// Options that a target has no place for would do nothing.
void refuse_unused_options(const ExportArguments& a, launch::Target target) {
  if (a.options.image != launch::LaunchOptions{}.image && target != launch::Target::k8s)
    throw InputError(Problem{"--image", "", "has no effect on target " + a.target,
                             "only k8s starts containers"});
  if (!a.options.script.empty() &&
      (target == launch::Target::deepspeed || target == launch::Target::megatron))
    throw InputError(Problem{"--script", "", "has no effect on target " + a.target,
                             "torchrun, slurm and k8s start a program"});
}

int run(const ExportArguments& a) {
  const launch::Target target = target_named(a.target);
  refuse_unused_options(a, target);
  const Prepared p = prepared(a.what);
  const launch::LaunchFile file = launch::launch_file(target, p.scenario, a.options);
  if (!a.output.empty()) {
    std::error_code ignored;
    if (std::filesystem::equivalent(a.output, p.scenario.file, ignored))
      throw InputError(
          Problem{a.output, "", "is the scenario that is exported", "name another file"});
    write_file(a.output, file.text);
  }
  if (a.is_json) {
    fmt::print("{}\n", Json{{"stepcast", 1},
                            {"kind", "export"},
                            {"target", a.target},
                            {"file", a.output},
                            {"text", file.text},
                            {"warnings", file.warnings}}
                           .dump(2, ' ', false, Json::error_handler_t::replace));
    return kGood;
  }
  if (a.output.empty())
    fmt::print("{}", file.text);
  else
    fmt::print("wrote {}\n", a.output);
  for (const std::string& warning : file.warnings) fmt::print(stderr, "warning: {}\n", warning);
  return kGood;
}
}  // namespace

void add_export_command(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<ExportArguments>();
  CLI::App& command = *app.add_subcommand(
      "export", "what launches a scenario: torchrun, Slurm, Kubernetes, DeepSpeed, Megatron-LM");
  command.add_option("target", a->target, joined(enum_texts<launch::Target>(), " | "))
      ->required()
      ->type_name("TARGET");
  a->what.add_to(command);
  command.add_option("-o,--output", a->output, "file to write [standard output]")
      ->type_name("FILE");
  command
      .add_option("--script", a->options.script,
                  "training program [pretrain_gpt.py under Megatron-LM, else train.py]")
      ->type_name("FILE");
  command.add_option("--image", a->options.image, "k8s: container image")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_flag("--json", a->is_json,
                   "print file and warnings as one JSON document and nothing else");
  command.callback([a, &exit_code] { exit_code = run(*a); });
}
}  // namespace stepcast
