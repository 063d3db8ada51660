#pragma once
#include <string>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/scenario/scenario.hpp"

/// From a scenario to what starts it. A launcher carries less than a scenario says: what the chosen
/// framework cannot do is a Problem, what only the training program can do stands in the file's
/// comment and among the warnings.
namespace stepcast::launch {

/// torchrun: a bash script to be run on every node. slurm: an sbatch script. k8s: a manifest for
/// Kubeflow's training operator v1 and MPI operator v2beta1. deepspeed: DeepSpeed's JSON
/// configuration. megatron: Megatron-LM's arguments as bash arrays.
enum class Target { torchrun, slurm, k8s, deepspeed, megatron };

struct LaunchOptions {
  std::string script;           // training program; "" = the framework's usual name
  std::string image = "IMAGE";  // k8s: container image
};
struct LaunchFile {
  std::string text;
  std::vector<std::string> warnings;  // "/pointer: what the file does not do", one sentence each
};
/// Throws InputError naming every part of the scenario that the target cannot express.
LaunchFile launch_file(Target target, const Scenario& scenario, const LaunchOptions& options);
}  // namespace stepcast::launch

namespace stepcast {
template <>
struct EnumText<launch::Target> {
  static constexpr std::array<std::pair<launch::Target, std::string_view>, 5> table{
      {{launch::Target::torchrun, "torchrun"},
       {launch::Target::slurm, "slurm"},
       {launch::Target::k8s, "k8s"},
       {launch::Target::deepspeed, "deepspeed"},
       {launch::Target::megatron, "megatron"}}};
};
}  // namespace stepcast
