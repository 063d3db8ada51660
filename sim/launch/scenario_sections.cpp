#include "sim/launch/plan.hpp"

namespace stepcast::launch {
namespace {
std::string text(auto value) { return std::string(text_of(value)); }

/// Everything that a forecast depends on and no launcher's option says, resolved: a preset's
/// default would come back, but not what the scenario changed. Keys with an effect in few settings
/// only appear where they differ from their default, because the reader refuses them elsewhere.
Json training_section(const TrainingSpec& t) {
  const TrainingSpec unset;
  Json out{{"global_batch", t.global_batch},
           {"micro_batch", t.micro_batch},
           {"sequence_length", t.sequence_length},
           {"precision", text(t.precision)},
           {"gradient_precision", text(t.gradient_precision)},
           {"optimizer", text(t.optimizer)},
           {"recompute", text(t.recompute)},
           {"attention", text(t.attention)},
           {"fusion", text(t.fusion)},
           {"fused_loss", t.fused_loss},
           {"fused_gradient_accumulation", t.fused_gradient_accumulation},
           {"master_weights", t.master_weights},
           {"gradient_clip", t.gradient_clip},
           {"causal_skips_half", t.causal_skips_half}};
  if (t.recompute_layers != unset.recompute_layers) out["recompute_layers"] = t.recompute_layers;
  if (t.recompute_interval != unset.recompute_interval)
    out["recompute_interval"] = t.recompute_interval;
  if (t.attention_kernel != unset.attention_kernel)
    out["attention_kernel"] = text(t.attention_kernel);
  if (t.narrow_scaling != unset.narrow_scaling) out["narrow_scaling"] = text(t.narrow_scaling);
  return out;
}

Json parallel_section(const ParallelLayout& p) {
  Json out{{"tp", p.tp}, {"pp", p.pp}, {"cp", p.cp}, {"ep", p.ep}, {"zero_stage", p.zero_stage}};
  if (p.sequence_parallel) out["sequence_parallel"] = true;
  if (p.shard_size > 0) out["shard_size"] = p.shard_size;
  if (p.pp > 1) {
    out["schedule"] = text(p.schedule);
    if (p.virtual_stages > 1) out["virtual_stages"] = p.virtual_stages;
    if (!p.layers_per_stage.empty()) out["layers_per_stage"] = p.layers_per_stage;
  }
  return out;
}

bool is_preset(const std::string& kind, const std::string& name) {
  for (const std::string& known : preset_names(kind))
    if (known == name) return true;
  return false;
}
}  // namespace

Json carried_sections(const Scenario& scenario, const Plan& plan) {
  Json sections = Json::object();
  sections["cluster"] = scenario.cluster.name;
  if (is_preset("strategies", scenario.strategy.preset))
    sections["strategy"] = scenario.strategy.preset;
  if (plan.program == Program::megatron) return sections;  // its flags say the rest
  if (is_preset("models", scenario.model.name)) sections["model"] = scenario.model.name;
  sections["training"] = training_section(scenario.training);
  sections["parallel"] = parallel_section(scenario.parallel);
  return sections;
}
}  // namespace stepcast::launch
