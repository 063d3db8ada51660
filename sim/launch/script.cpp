#include <fmt/format.h>

#include "sim/launch/plan.hpp"
#include "sim/launch/quoting.hpp"

namespace stepcast::launch {
namespace {
constexpr int kRendezvousPort = 29400;  // torchrun's default for c10d
constexpr const char* kConfigFile = "ds_config.json";

/// Writes DeepSpeed's configuration beside the program; the quoted mark keeps bash from reading it.
std::string config_heredoc(const Plan& plan) {
  if (!plan.deepspeed) return "";
  return fmt::format("cat > {} <<'STEPCAST_CONFIG'\n{}\nSTEPCAST_CONFIG\n", kConfigFile,
                     plan.deepspeed->dump(2));
}

std::string exports(const Plan& plan) {
  std::string text;
  for (const auto& [name, value] : plan.environment)
    text += "export " + name + "=" + shell_quoted(value) + "\n";
  return text;
}

/// The program with its arguments, a group a line; what the caller gives comes last.
std::string program_lines(const Plan& plan) {
  std::string text = "  " + shell_quoted(plan.script);
  for (const ArgumentGroup& group : plan.arguments) text += " \\\n  \"${" + group.title + "[@]}\"";
  if (plan.deepspeed) text += std::string(" \\\n  --deepspeed --deepspeed_config ") + kConfigFile;
  return text + " \\\n  \"$@\"\n";
}

std::string torchrun_line(const Plan& plan) {
  if (plan.nodes == 1)
    return fmt::format("torchrun --standalone --nnodes=1 --nproc-per-node={} \\\n",
                       plan.processes_per_node);
  return fmt::format(
      "torchrun --nnodes={} --nproc-per-node={} \\\n"
      "  --rdzv-backend=c10d --rdzv-endpoint=\"${{MASTER_ADDR}}:{}\" --rdzv-id={} \\\n",
      plan.nodes, plan.processes_per_node, kRendezvousPort, shell_quoted(plan.name));
}
}  // namespace

std::string bash_arrays(const std::vector<ArgumentGroup>& groups) {
  std::string text;
  for (const ArgumentGroup& group : groups) {
    text += group.title + "=(\n";
    for (const auto& flag : group.flags) text += "  " + shell_words(flag) + "\n";
    text += ")\n";
  }
  return text;
}

std::string header_comment(const Scenario& scenario, const Plan& plan, const Findings& findings,
                           const std::string& about) {
  const ParallelLayout& p = scenario.parallel;
  std::string text = comment_line(about);
  text += comment_line("Scenario: " + (scenario.name.empty() ? scenario.file : scenario.name));
  text += comment_line(fmt::format(
      "{} nodes x {} ranks of {}: tp {} x pp {} x dp {} x cp {}, ep {}, ZeRO stage {}", plan.nodes,
      plan.processes_per_node, scenario.cluster.name, p.tp, p.pp, p.dp, p.cp, p.ep, p.zero_stage));
  if (plan.program == Program::megatron) {
    text += comment_line(
        "Flags: megatron/training/arguments.py of NVIDIA/Megatron-LM at 000c4ac2 (core 0.14)");
    text += comment_line(
        "Left to you: data, tokenizer, learning rate, iterations, checkpoints (given behind it)");
  }
  if (plan.deepspeed)
    text += comment_line(
        "DeepSpeed keys: docs/_pages/config-json.md of deepspeedai/DeepSpeed at 00376da4");
  for (const std::string& setting : plan.settings)
    text += comment_line("The program sets: " + setting);
  for (const std::string& warning : findings.warnings) text += comment_line("WARNING " + warning);
  return text;
}

std::string torchrun_script(const Scenario& scenario, const Plan& plan, const Findings& findings) {
  std::string text = "#!/usr/bin/env bash\n";
  text += header_comment(scenario, plan, findings,
                         plan.nodes == 1
                             ? "Run on the node; further arguments go to the program."
                             : "Run on every node with MASTER_ADDR=HOST of the first; further "
                               "arguments go to the program.");
  text += comment_line("Flags: torchrun (Elastic Launch), docs.pytorch.org, PyTorch 2.x");
  text += "set -euo pipefail\n";
  if (plan.nodes > 1) text += ": \"${MASTER_ADDR:?set it to the host name of the first node}\"\n";
  text += exports(plan) + config_heredoc(plan) + bash_arrays(plan.arguments);
  return text + "exec " + torchrun_line(plan) + program_lines(plan);
}

std::string slurm_script(const Scenario& scenario, const Plan& plan, const Findings& findings) {
  // torchrun starts the ranks of a node, MPI one task a rank.
  const bool is_mpi = plan.program == Program::horovod;
  std::string text = "#!/bin/bash\n";
  text += fmt::format("#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n",
                      plan.name, plan.nodes, is_mpi ? plan.processes_per_node : 1);
  if (plan.has_gpus) text += fmt::format("#SBATCH --gpus-per-node={}\n", plan.processes_per_node);
  text += "#SBATCH --exclusive\n";
  text += header_comment(scenario, plan, findings,
                         "sbatch --partition=P --time=T THIS_FILE [arguments of the program]");
  text += comment_line(
      "Options: sbatch and srun manual pages, Slurm 23.02" +
      std::string(is_mpi ? "" : "; torchrun (Elastic Launch), docs.pytorch.org, PyTorch 2.x"));
  text += "set -euo pipefail\n";
  if (!is_mpi && plan.nodes > 1)
    text +=
        // sed reads to the end of the list; head would close it early, and under pipefail the
        // broken pipe of scontrol would end the job.
        "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | sed -n 1p)\n"
        "export MASTER_ADDR\n";
  text += exports(plan) + config_heredoc(plan) + bash_arrays(plan.arguments);
  return text +
         (is_mpi ? std::string("srun --mpi=pmix python \\\n")
                 : "srun --kill-on-bad-exit=1 " + torchrun_line(plan)) +
         program_lines(plan);
}
}  // namespace stepcast::launch
