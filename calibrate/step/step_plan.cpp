#include "calibrate/step/step_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/step/train_step.hpp"
#include "sim/workload/model_work.hpp"

namespace stepcast::calibrate {
using runtime::Trainer;
using runtime::TrainingPlan;

/// The runtime's own schemes have the simulator's names.
std::optional<runtime::CompressorChoice> compressor_of(const Scenario& scenario) {
  const CompressionSpec& spec = scenario.compression;
  if (spec.scheme == CompressionScheme::none) return std::nullopt;
  Problems problems;
  const auto refuse = [&](const char* key, const char* what, const char* hint) {
    problems.add({scenario.file, key, what, hint});
  };
  if (spec.scheme == CompressionScheme::dgc)
    refuse("/compression/scheme", "is dgc, which the runtime does not run", "topk");
  if (spec.two_level)
    refuse("/compression/two_level", "is true; the runtime has one level", "set it to false");
  if (spec.warmup_steps > 0)
    refuse("/compression/warmup_steps", "is not 0; the runtime keeps one share", "leave it out");
  if (!problems.empty()) throw InputError(problems);
  return runtime::CompressorChoice{.scheme = std::string(text_of(spec.scheme)),
                                   .ratio = spec.ratio,
                                   .rank = spec.rank,
                                   .has_error_feedback = spec.error_feedback,
                                   .seed = scenario.run.seed};
}

TrainingPlan plan_of(const Scenario& scenario, Seconds time_limit, const std::string& interface) {
  TrainingPlan plan;
  plan.model = scenario.model;
  plan.training = scenario.training;
  plan.layout = scenario.parallel;
  plan.buckets = {.bucket = scenario.strategy.bucket_bytes,
                  .first_bucket = scenario.strategy.first_bucket_bytes,
                  .overlaps = scenario.strategy.overlap_grad_reduce,
                  .compressor = compressor_of(scenario)};
  if (plan.training.optimizer == OptimizerKind::sgd) {
    plan.optimizer.learning_rate = 0.02f;  // with momentum 0.9; batches here are small
    plan.optimizer.weight_decay = 1e-4f;   // He et al. 2015
  }
  plan.optimizer.clip_norm = scenario.training.gradient_clip ? 1.0f : 0.0f;
  plan.seed = scenario.run.seed;
  plan.time_limit = time_limit;
  plan.interface = interface;
  return plan;
}

std::vector<Op> ops_of(const TrainingPlan& plan) {
  const ModelWork work = model_work(plan.model, plan.training, plan.layout);
  std::vector<int> layers = work.before;
  layers.insert(layers.end(), work.blocks.begin(), work.blocks.end());
  layers.insert(layers.end(), work.after.begin(), work.after.end());
  std::vector<Op> ops;
  std::int64_t parameters = 0;
  for (const int kind : layers) {
    const LayerWork& layer = work.kinds[static_cast<std::size_t>(kind)];
    ops.insert(ops.end(), layer.forward.begin(), layer.forward.end());
    parameters += layer.dense_parameters;
  }
  for (auto kind = layers.rbegin(); kind != layers.rend(); ++kind) {
    const LayerWork& layer = work.kinds[static_cast<std::size_t>(*kind)];
    ops.insert(ops.end(), layer.recompute.begin(), layer.recompute.end());
    ops.insert(ops.end(), layer.backward.begin(), layer.backward.end());
  }
  const std::vector<Op> last = optimizer_ops(parameters, parameters, plan.training);
  ops.insert(ops.end(), last.begin(), last.end());
  return ops;
}

TrainingPlan few_blocks(TrainingPlan plan) {
  constexpr double kEnough = 64.0 * 1048576;
  const ModelWork work = model_work(plan.model, plan.training, plan.layout);
  const LayerWork& block = work.kinds[static_cast<std::size_t>(work.blocks.front())];
  const double bytes = 8.0 * static_cast<double>(block.dense_parameters) +
                       static_cast<double>(block.activation.value);
  const auto enough = static_cast<std::int64_t>(std::ceil(kEnough / bytes));
  if (plan.model.kind == ModelKind::transformer) {  // other models' layers all differ
    std::int64_t& layers = plan.model.transformer.layers;
    layers = std::min(layers, std::max<std::int64_t>(2, enough));
  }
  plan.layout = ParallelLayout{};
  plan.training.global_batch = plan.training.micro_batch;
  plan.buckets.overlaps = false;
  return plan;
}

RecordedStep recorded_step(Trainer& t, std::int64_t step) {
  t.device.recorder().start();
  const Nanoseconds from = runtime::Recorder::now();
  runtime::train_step(t, step);
  t.device.synchronise();
  const Nanoseconds to = runtime::Recorder::now();
  t.device.recorder().stop();
  return {runtime::timeline_of(t.device.recorder().labels(), t.device.recorder().activities(),
                               t.device.recorder().streams(), 0, t.rank),
          seconds_from_ns(to - from).value};
}

std::vector<const Span*> compute_spans(const Timeline& timeline) {
  std::vector<const Span*> spans;
  for (const Span& span : timeline.spans)
    if (timeline.tracks[span.track].stream == "compute") spans.push_back(&span);
  return spans;
}
}  // namespace stepcast::calibrate
