#include "sim/workload/training_spec.hpp"

namespace stepcast {

TrainingSpec read_training(ObjectReader reader) {
  TrainingSpec training;
  training.global_batch = reader.integer("global_batch", {.min = 1, .max = 1 << 30});
  training.micro_batch = reader.integer("micro_batch", {.fallback = 1, .min = 1, .max = 1 << 24});
  training.sequence_length =
      reader.integer("sequence_length", {.fallback = 1, .min = 1, .max = 1 << 26});
  training.precision = reader.one_of<Precision>("precision", Precision::bf16);
  training.gradient_precision = reader.one_of<Precision>("gradient_precision", Precision::fp32);
  training.optimizer = reader.one_of<OptimizerKind>("optimizer", OptimizerKind::adam);
  training.recompute = reader.one_of<Recompute>("recompute", Recompute::none);
  training.recompute_layers =
      reader.integer("recompute_layers", {.fallback = 0, .min = 0, .max = 1 << 20});
  training.recompute_interval =
      reader.integer("recompute_interval", {.fallback = 1, .min = 1, .max = 1 << 20});
  training.attention = reader.one_of<AttentionKind>("attention", AttentionKind::flash);
  training.attention_kernel =
      reader.one_of<AttentionKernel>("attention_kernel", AttentionKernel::best);
  training.fusion = reader.one_of<Fusion>("fusion", Fusion::fused);
  training.fused_loss = reader.boolean("fused_loss", training.fusion != Fusion::eager);
  training.fused_gradient_accumulation =
      reader.boolean("fused_gradient_accumulation", training.fusion != Fusion::eager);
  training.narrow_scaling = reader.one_of<NarrowScaling>("narrow_scaling", NarrowScaling::delayed);
  if (training.attention_kernel != AttentionKernel::best &&
      training.attention == AttentionKind::unfused)
    reader.problem("attention_kernel", "has no effect with attention \"unfused\"",
                   "set attention to \"flash\" or leave it out");
  // 32-bit parameters are their own master copy.
  const bool is_narrow = bytes_per_element(training.precision) < 4;
  training.master_weights = reader.boolean("master_weights", is_narrow);
  training.gradient_clip = reader.boolean("gradient_clip", true);
  training.causal_skips_half = reader.boolean("causal_skips_half", true);

  if (training.master_weights && !is_narrow)
    reader.problem("master_weights",
                   "is true with precision " + std::string(text_of(training.precision)) +
                       ", whose parameters are already 32 bit",
                   "leave it out");
  if (training.recompute_layers > 0 && training.recompute != Recompute::full)
    reader.problem(
        "recompute_layers",
        "has no effect with recompute \"" + std::string(text_of(training.recompute)) + "\"",
        "set recompute to \"full\" or leave it out");
  if (training.recompute_interval > 1 && training.recompute != Recompute::full)
    reader.problem(
        "recompute_interval",
        "has no effect with recompute \"" + std::string(text_of(training.recompute)) + "\"",
        "set recompute to \"full\" or leave it out");
  if (training.recompute_interval > 1 && training.recompute_layers > 0)
    reader.problem("recompute_interval",
                   "stands beside recompute_layers, which picks the blocks in another way",
                   "keep one of them");
  if (training.narrow_scaling != NarrowScaling::delayed &&
      bytes_per_element(training.precision) > 1)
    reader.problem(
        "narrow_scaling",
        "has no effect with precision \"" + std::string(text_of(training.precision)) + "\"",
        "set precision to \"fp8\" or leave it out");
  if (bytes_per_element(training.gradient_precision) == 1)
    reader.problem(
        "gradient_precision",
        "is " + std::string(text_of(training.gradient_precision)) + ", expected 16 or 32 bit",
        "to send fewer bits see compression");
  reader.done();
  return training;
}
}  // namespace stepcast
