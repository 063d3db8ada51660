#include "sim/launch/plan.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/launch/quoting.hpp"

namespace stepcast::launch {
namespace {
std::string name_of(const Scenario& scenario) {
  if (!scenario.name.empty()) return dns_label(scenario.name);
  std::string base = std::filesystem::path(scenario.file).filename().string();
  base = base.substr(0, base.find('.'));
  return dns_label(base);
}

std::string usual_script(const Scenario& scenario, Program program) {
  if (program != Program::megatron) return "train.py";
  return scenario.model.transformer.is_encoder_with_mlm_head ? "pretrain_bert.py"
                                                             : "pretrain_gpt.py";
}

void set_environment(const Scenario& scenario, Plan& plan) {
  // One hardware queue keeps communication kernels behind the GEMMs they were issued after, which
  // Megatron-LM asks for with tensor parallelism (its README and arguments.py).
  if (plan.program == Program::megatron && scenario.parallel.tp > 1)
    plan.environment.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  if (scenario.strategy.host == HostMode::blocking)
    plan.environment.emplace_back("CUDA_LAUNCH_BLOCKING", "1");
  // NCCL user guide, "Environment Variables": NCCL_ALGO.
  switch (scenario.strategy.collective_algorithm) {
    case Algorithm::ring:
      plan.environment.emplace_back("NCCL_ALGO", "Ring");
      break;
    case Algorithm::tree:
      plan.environment.emplace_back("NCCL_ALGO", "Tree");
      break;
    case Algorithm::nvls:
      plan.environment.emplace_back("NCCL_ALGO", "NVLS");
      break;
    case Algorithm::sharp:
      plan.environment.emplace_back("NCCL_ALGO", "CollnetDirect");
      break;
    default:
      break;  // automatic: NCCL's own choice; hierarchical and direct are the framework's
  }
  if (plan.program == Program::horovod) {
    // Horovod documentation, "Tensor Fusion": bytes and milliseconds.
    plan.environment.emplace_back("HOROVOD_FUSION_THRESHOLD",
                                  std::to_string(scenario.strategy.bucket_bytes.value));
    plan.environment.emplace_back("HOROVOD_CYCLE_TIME",
                                  fmt::format("{:g}", scenario.strategy.cycle_s * 1e3));
    if (scenario.strategy.collective_algorithm == Algorithm::hierarchical)
      plan.environment.emplace_back("HOROVOD_HIERARCHICAL_ALLREDUCE", "1");
  }
}

/// One process per GPU; TensorFlow runs all GPUs of a node from one process, whose count is the
/// node's all the same.
void set_size(const Scenario& scenario, Plan& plan, Findings& findings) {
  const ClusterSpec& cluster = scenario.cluster;
  plan.nodes = cluster.nodes();
  plan.processes_per_node = cluster.groups.front().spec.gpus;
  plan.has_gpus = !cluster.groups.front().spec.gpu.name.starts_with("cpu");
  for (const NodeGroup& group : cluster.groups)
    if (group.spec.gpus != plan.processes_per_node)
      findings.refuse(
          "/cluster/groups",
          "nodes have unlike numbers of GPUs, and launchers start as many ranks on each",
          "state groups of equal gpus_per_node");
}
}  // namespace

std::optional<Program> program_of(const Scenario& scenario, Findings& findings) {
  const std::string& framework = scenario.strategy.framework;
  const std::string& preset = scenario.strategy.preset;
  if (scenario.cluster.groups.front().spec.gpu.name.starts_with("tpu")) {
    findings.refuse("/cluster", "TPU slices are started by their own runtime",
                    "name a GPU or CPU cluster");
    return std::nullopt;
  }
  if (framework.starts_with("megatron")) return Program::megatron;
  if (framework == "deepspeed") return Program::deepspeed;
  if (framework == "tensorflow") return Program::tensorflow;
  if (preset.starts_with("horovod")) return Program::horovod;
  if (framework == "pytorch" || framework == "torchtitan") {
    if (preset == "ray-train" || preset == "sagemaker-dp")
      findings.warn("/strategy/preset",
                    preset + " starts its workers itself; these are the same ranks by hand");
    return Program::pytorch;
  }
  findings.refuse("/strategy/framework", "no launcher is written for \"" + framework + "\"",
                  "known are megatron, deepspeed, pytorch, torchtitan, horovod and tensorflow");
  return std::nullopt;
}

Plan plan_of(const Scenario& scenario, const LaunchOptions& options, Findings& findings) {
  Plan plan;
  plan.name = name_of(scenario);
  set_size(scenario, plan, findings);
  const auto program = program_of(scenario, findings);
  if (!program) return plan;
  plan.program = *program;
  plan.script = options.script.empty() ? usual_script(scenario, plan.program) : options.script;
  check_mechanisms(scenario, plan.program, findings);
  if (plan.program == Program::megatron)
    plan.arguments = megatron_arguments(scenario, findings);
  else
    plan.settings = program_settings(scenario, plan.program);
  if (plan.program == Program::deepspeed ||
      scenario.strategy.framework.starts_with("megatron-deepspeed"))
    plan.deepspeed = deepspeed_config(scenario, findings);
  set_environment(scenario, plan);
  return plan;
}
}  // namespace stepcast::launch
