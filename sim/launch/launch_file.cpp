#include "sim/launch/launch_file.hpp"

#include <algorithm>

#include "sim/launch/plan.hpp"
#include "sim/launch/quoting.hpp"

namespace stepcast::launch {
namespace {
void throw_if_refused(const Findings& findings) {
  if (!findings.problems.empty()) throw InputError(findings.problems);
}

LaunchFile deepspeed_file(const Scenario& scenario, Findings& findings) {
  check_mechanisms(scenario, Program::deepspeed, findings);
  const Json config = deepspeed_config(scenario, findings);
  throw_if_refused(findings);
  return {config.dump(2) + "\n", findings.warnings};
}

LaunchFile megatron_file(const Scenario& scenario, const LaunchOptions& options,
                         Findings& findings) {
  Plan plan;
  plan.program = Program::megatron;
  plan.script = options.script;
  plan.nodes = scenario.cluster.nodes();
  plan.processes_per_node = scenario.cluster.gpus() / std::max(1, plan.nodes);
  check_mechanisms(scenario, Program::megatron, findings);
  plan.arguments = megatron_arguments(scenario, findings);
  throw_if_refused(findings);
  std::string text = header_comment(scenario, plan, findings,
                                    "Arguments of Megatron-LM; source this file and add "
                                    "\"${MEGATRON_ARGS[@]}\" to pretrain_gpt.py.");
  text += bash_arrays(plan.arguments) + "MEGATRON_ARGS=(";
  for (const ArgumentGroup& group : plan.arguments) text += " \"${" + group.title + "[@]}\"";
  return {text + " )\n", findings.warnings};
}
}  // namespace

LaunchFile launch_file(Target target, const Scenario& scenario, const LaunchOptions& options) {
  if (scenario.collective_sweep)
    throw InputError(Problem{scenario.file, "/collective", "a sweep of sizes starts no training",
                             "nccl-tests measures it"});
  Findings findings(scenario.file);
  if (target == Target::deepspeed) return deepspeed_file(scenario, findings);
  if (target == Target::megatron) return megatron_file(scenario, options, findings);
  const Plan plan = plan_of(scenario, options, findings);
  throw_if_refused(findings);
  if (target != Target::k8s && plan.program == Program::tensorflow)
    findings.refuse("/strategy/preset",
                    "TensorFlow workers find each other by TF_CONFIG, which " +
                        std::string(text_of(target)) + " does not set",
                    "stepcast export k8s writes a TFJob");
  if (target == Target::torchrun && plan.program == Program::horovod)
    findings.refuse("/strategy/preset", "Horovod's ranks are started by MPI, not by torchrun",
                    "stepcast export slurm or k8s");
  throw_if_refused(findings);
  std::string text;
  if (target == Target::torchrun)
    text = torchrun_script(scenario, plan, findings);
  else if (target == Target::slurm)
    text = slurm_script(scenario, plan, findings);
  else
    text = k8s_manifest(scenario, plan, options, findings);
  throw_if_refused(findings);
  return {text, findings.warnings};
}
}  // namespace stepcast::launch
