#include <algorithm>
#include <cmath>

#include "runtime/converge/training_run.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
constexpr double kStepsBetweenLooks = 5;
constexpr double kDivergedFactor =
    3;  // a loss beyond three times that of a blind guess does not come back
}  // namespace

TrainingRun::TrainingRun(const TrainingSetup& setup) : setup_(setup) {
  STEPCAST_ASSERT(setup.task != nullptr && setup.order.workers > 0, "a run has a task and workers");
}

TrainingOutcome train(const TrainingSetup& setup) { return TrainingRun(setup).run(); }

TrainingOutcome TrainingRun::run() {
  switch (setup_.order.kind) {
    case UpdateKind::lockstep:
      lockstep();
      break;
    case UpdateKind::stale:
      stale();
      break;
    case UpdateKind::averaging:
      averaging();
      break;
    case UpdateKind::elastic:
      elastic();
      break;
    case UpdateKind::pairs:
      pairs();
      break;
    case UpdateKind::ring:
      ring();
      break;
  }
  outcome_.final_loss = outcome_.curve.back().loss;
  if (outcome_.curve.back().step > 0)
    outcome_.bytes_per_step = sent_bytes_ / outcome_.curve.back().step;
  // McCandlish et al. 2018, appendix A.1: unbiased estimates from two batch sizes.
  if (norms_ > 0 && workers() > 1) {
    const double small = samples_per_update(), large = small * workers();
    const double small_norm = small_norm_ / static_cast<double>(norms_),
                 large_norm = large_norm_ / static_cast<double>(norms_);
    const double signal = (large * large_norm - small * small_norm) / (large - small);
    const double noise = (small_norm - large_norm) / (1 / small - 1 / large);
    if (signal > 0 && noise > 0) outcome_.gradient_noise_scale = noise / signal;
  }
  return outcome_;
}

bool TrainingRun::look(double step, std::span<const float> parameters) {
  if (!is_look_due(step)) return false;
  const bool is_last = step >= setup_.spec.steps;
  while (next_look_ <= step) next_look_ += kStepsBetweenLooks;
  const double loss = setup_.task->network.loss(parameters, setup_.task->held_out);
  const double target = setup_.spec.target_loss.value_or(setup_.task->target_loss);
  outcome_.has_diverged = !std::isfinite(loss) || loss > kDivergedFactor * setup_.task->start_loss;
  if (!outcome_.curve.empty() && !outcome_.steps_to_target && loss <= target) {
    const LossPoint& before = outcome_.curve.back();
    const double share = before.loss > target ? (before.loss - target) / (before.loss - loss) : 0;
    outcome_.steps_to_target = before.step + share * (step - before.step);
  }
  outcome_.curve.push_back({step, loss});
  return is_last || (outcome_.has_diverged && step > 0);
}

void TrainingRun::gradients(std::span<const float> parameters, std::int64_t step, int first,
                            int count, std::vector<std::vector<float>>& out) {
  const ConvergenceSpec& spec = setup_.spec;
  out.resize(static_cast<std::size_t>(count));
  std::vector<std::vector<float>> more(spec.accumulation > 1 ? out.size() : 0);
  for (int part = 0; part < spec.accumulation; ++part) {
    const Samples samples =
        drawn_samples(*setup_.task, setup_.seed, step * spec.accumulation + part, first, count,
                      spec.worker_batch, spec.skew);
    setup_.task->network.gradients(parameters, samples, part == 0 ? out : more);
    if (part == 0) continue;
    for (std::size_t worker = 0; worker < out.size(); ++worker)
      for (std::size_t i = 0; i < out[worker].size(); ++i) out[worker][i] += more[worker][i];
  }
  if (spec.accumulation == 1) return;
  for (std::vector<float>& gradient : out)
    for (float& g : gradient) g /= static_cast<float>(spec.accumulation);
}

void TrainingRun::refresh(Group& group, int ranks, double step) const {
  if (!setup_.compressor) return;
  CompressorChoice choice = *setup_.compressor;
  // DGC's warm-up: 25 %, 6.25 %, 1.6 %, 0.4 % in equal parts (Lin et al. 2018, section 3.3).
  constexpr double kWarmupParts = 4;
  if (step < setup_.compressor_warmup_steps)
    choice.ratio = std::max(
        choice.ratio,
        std::pow(0.25, 1 + std::floor(kWarmupParts * step / setup_.compressor_warmup_steps)));
  if (group.ratio == choice.ratio) return;
  group = {std::make_unique<LocalGroup>(choice, ranks, parameter_count()), choice.ratio};
}

std::vector<float> TrainingRun::reduced(std::vector<std::vector<float>>& gradients,
                                        LocalGroup* group) {
  if (group == nullptr) {
    sent_bytes_ += parameter_bytes();
    return mean_of(gradients);
  }
  sent_bytes_ += static_cast<double>(group->reduce(gradients).sent.value);
  std::vector<float> mean = gradients.front();  // the sum, the same on all
  for (float& m : mean) m /= static_cast<float>(gradients.size());
  return mean;
}

std::vector<float> TrainingRun::mean_of(const std::vector<std::vector<float>>& vectors) {
  std::vector<float> mean = vectors.front();
  for (std::size_t v = 1; v < vectors.size(); ++v)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += vectors[v][i];
  for (float& m : mean) m /= static_cast<float>(vectors.size());
  return mean;
}

void TrainingRun::note_noise(const std::vector<std::vector<float>>& gradients) {
  if (gradients.size() < 2 || outcome_.steps_to_target) return;
  std::vector<double> mean(gradients.front().size(), 0);
  double small = 0;
  for (const std::vector<float>& gradient : gradients)
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const auto g = static_cast<double>(gradient[i]);
      small += g * g;
      mean[i] += g;
    }
  const auto count = static_cast<double>(gradients.size());
  double large = 0;
  for (const double m : mean) large += m / count * (m / count);
  small_norm_ += small / count;
  large_norm_ += large;
  ++norms_;
}

void TrainingRun::local_steps(std::vector<float>& parameters, Optimizer& optimizer, int worker,
                              std::int64_t from, std::int64_t to) {
  std::vector<std::vector<float>> gradient;
  for (std::int64_t step = from; step < to; ++step) {
    gradients(parameters, step, worker, 1, gradient);
    clip(gradient.front(), setup_.spec.clip_norm);
    optimizer.update(parameters, gradient.front(),
                     learning_rate(setup_.spec, samples_per_update(), static_cast<double>(step)));
  }
}
}  // namespace stepcast::runtime
