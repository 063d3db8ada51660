#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/json.hpp"
#include "sim/launch/launch_file.hpp"

/// Private to sim/launch: what every target writes in its own words.
namespace stepcast::launch {

/// Whose program runs: it decides which arguments there are and who starts the ranks.
enum class Program { megatron, deepspeed, pytorch, horovod, tensorflow };

/// What was found while a scenario is put into a target's words.
class Findings {
 public:
  explicit Findings(std::string file) : file_(std::move(file)) {}
  void warn(const std::string& place, const std::string& sentence) {
    warnings.push_back(place + ": " + sentence);
  }
  void refuse(const std::string& place, std::string message, std::string hint = "") {
    problems.add({file_, place, std::move(message), std::move(hint)});
  }
  std::vector<std::string> warnings;
  Problems problems;

 private:
  std::string file_;
};

/// Flags that belong together, each with its values.
struct ArgumentGroup {
  std::string title;  // name of a bash array
  std::vector<std::vector<std::string>> flags;
};

struct Plan {
  std::string name;  // an RFC 1123 label
  Program program = Program::pytorch;
  std::string script;
  int nodes = 1, processes_per_node = 1;
  bool has_gpus = true;                  // false: CPU nodes, no accelerator is asked for
  std::vector<ArgumentGroup> arguments;  // of the script
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<Json> deepspeed;      // its configuration, where the program reads one
  std::vector<std::string> settings;  // what the program has to set itself, one sentence each
};
Plan plan_of(const Scenario& scenario, const LaunchOptions& options, Findings& findings);
/// nullopt and a refusal where nothing here starts the scenario's framework.
std::optional<Program> program_of(const Scenario& scenario, Findings& findings);

/// Mechanisms that the program's framework does not have (refused) or that its script has to
/// switch on (warned), and parts of the scenario that describe the machine.
void check_mechanisms(const Scenario& scenario, Program program, Findings& findings);

/// Megatron-LM's arguments. Flag names: megatron/training/arguments.py of NVIDIA/Megatron-LM at
/// 000c4ac2 (core 0.14).
std::vector<ArgumentGroup> megatron_arguments(const Scenario& scenario, Findings& findings);
/// Its part for parallelism, precision of reductions, overlap and buckets.
ArgumentGroup megatron_layout(const Scenario& scenario, Findings& findings);
/// DeepSpeed's configuration. Keys: "DeepSpeed Configuration JSON" (docs/_pages/config-json.md of
/// deepspeedai/DeepSpeed at 00376da4).
Json deepspeed_config(const Scenario& scenario, Findings& findings);
/// What a PyTorch, Horovod or TensorFlow program has to set itself to train as simulated.
std::vector<std::string> program_settings(const Scenario& scenario, Program program);
/// model, training, parallel and strategy as far as a launcher has no words for them: the sections
/// that an import of the manifest reads back.
Json carried_sections(const Scenario& scenario, const Plan& plan);

/// What a target is, where its words come from and what is left to the reader, as comment lines.
std::string header_comment(const Scenario& scenario, const Plan& plan, const Findings& findings,
                           const std::string& about);
std::string bash_arrays(const std::vector<ArgumentGroup>& groups);

std::string torchrun_script(const Scenario& scenario, const Plan& plan, const Findings& findings);
std::string slurm_script(const Scenario& scenario, const Plan& plan, const Findings& findings);
std::string k8s_manifest(const Scenario& scenario, const Plan& plan, const LaunchOptions& options,
                         Findings& findings);
}  // namespace stepcast::launch
