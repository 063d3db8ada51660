#include "sim/io/object_reader.hpp"
#include "sim/scenario/parts.hpp"

namespace stepcast {
ConvergenceSpec read_converge(ObjectReader r) {
  ConvergenceSpec s;
  constexpr int kMost = 256;  // workers that one process trains in a sensible time
  const auto whole = [&](const char* key, int fallback, int min, int max) {
    return static_cast<int>(r.integer(key, {.fallback = fallback, .min = min, .max = max}));
  };
  s.task = r.one_of<LearningTaskKind>("task", s.task);
  s.corpus = r.text("corpus", s.corpus);
  if (s.task != LearningTaskKind::text && r.has("corpus"))
    r.problem("corpus", "has no effect on task teacher", "set task to text");
  s.workers = whole("workers", s.workers, 0, kMost);
  s.worker_batch = whole("worker_batch", s.worker_batch, 1, 65536);
  s.accumulation = whole("accumulation", s.accumulation, 1, 4096);
  s.optimizer = r.one_of<OptimizerRule>("optimizer", s.optimizer);
  s.learning_rate = r.optional_number("learning_rate", {.min = 1e-9, .max = 1e6});
  s.rule = r.one_of<LearningRateRule>("rule", s.rule);
  s.base_batch = r.number("base_batch", {.fallback = s.base_batch, .min = 1, .max = 1e9});
  if (s.rule == LearningRateRule::none && r.has("base_batch"))
    r.problem("base_batch", "has no effect with rule none", "");
  s.warmup_steps = whole("warmup_steps", s.warmup_steps, 0, 1'000'000);
  s.momentum = r.number("momentum", {.fallback = s.momentum, .max = 0.9999});
  if (r.has("momentum") &&
      (s.optimizer == OptimizerRule::adam || s.optimizer == OptimizerRule::lamb))
    r.problem("momentum", "has no effect on " + std::string(text_of(s.optimizer)),
              "sgd and lars use it");
  s.clip_norm = r.number("clip_norm", {.fallback = s.clip_norm, .max = 1e9});
  s.batch_norm = r.one_of<BatchNorm>("batch_norm", s.batch_norm);
  s.skew = r.number("skew", {.fallback = s.skew, .max = 1});
  s.steps = whole("steps", s.steps, 1, 1'000'000);
  s.seeds = whole("seeds", s.seeds, 1, 1000);
  s.target_loss = r.optional_number("target_loss", {.min = 1e-9, .max = 100});
  if (s.batch_norm != BatchNorm::none && s.worker_batch < 2)
    r.problem("worker_batch", "is 1: batch norm needs two samples", "");
  r.done();
  return s;
}
}  // namespace stepcast
