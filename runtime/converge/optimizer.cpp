#include "runtime/converge/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/assert.hpp"

namespace stepcast {
double default_learning_rate(OptimizerRule rule) {
  switch (rule) {
    case OptimizerRule::sgd:
      return 0.02;
    case OptimizerRule::adam:
      return 0.003;
    case OptimizerRule::lars:
      return 0.5;
    case OptimizerRule::lamb:
      return 0.01;
  }
  STEPCAST_ASSERT(false, "every rule has a default");
  return 0;
}
}  // namespace stepcast

namespace stepcast::runtime {
namespace {
constexpr double kDecay1 = 0.9, kDecay2 = 0.999, kAdamFloor = 1e-8;  // Kingma, Ba 2015, section 2
constexpr double kTrust = 0.001;  // LARS's eta, You et al. 2017, section 5

double norm_of(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum);
}
}  // namespace

double learning_rate(const ConvergenceSpec& spec, double batch, double step) {
  const double base = spec.learning_rate.value_or(default_learning_rate(spec.optimizer));
  double factor = 1;
  if (spec.rule == LearningRateRule::linear) factor = batch / spec.base_batch;
  if (spec.rule == LearningRateRule::sqrt) factor = std::sqrt(batch / spec.base_batch);
  const double warmup = spec.warmup_steps > 0 ? std::min(1.0, (step + 1) / spec.warmup_steps) : 1;
  return base * factor * warmup;
}

void clip(std::span<float> gradient, double norm) {
  if (norm <= 0) return;
  const double length = norm_of(gradient);
  if (length <= norm) return;
  for (float& g : gradient) g *= static_cast<float>(norm / length);
}

Optimizer::Optimizer(const ConvergenceSpec& spec, const std::vector<TensorSpan>& tensors,
                     std::int64_t parameters)
    : rule_(spec.optimizer),
      momentum_(spec.momentum),
      tensors_(&tensors),
      first_(static_cast<std::size_t>(parameters), 0.0F),
      direction_(first_) {
  if (rule_ == OptimizerRule::adam || rule_ == OptimizerRule::lamb) second_ = first_;
}

void Optimizer::adam_direction(std::span<const float> gradient) {
  const double correct1 = 1 - std::pow(kDecay1, static_cast<double>(steps_));
  const double correct2 = 1 - std::pow(kDecay2, static_cast<double>(steps_));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const auto g = static_cast<double>(gradient[i]);
    first_[i] = static_cast<float>(kDecay1 * static_cast<double>(first_[i]) + (1 - kDecay1) * g);
    second_[i] =
        static_cast<float>(kDecay2 * static_cast<double>(second_[i]) + (1 - kDecay2) * g * g);
    direction_[i] =
        static_cast<float>(static_cast<double>(first_[i]) / correct1 /
                           (std::sqrt(static_cast<double>(second_[i]) / correct2) + kAdamFloor));
  }
}

void Optimizer::update(std::span<float> parameters, std::span<const float> gradient, double rate) {
  ++steps_;
  const bool is_adaptive = rule_ == OptimizerRule::adam || rule_ == OptimizerRule::lamb;
  if (is_adaptive)
    adam_direction(gradient);
  else
    std::copy(gradient.begin(), gradient.end(), direction_.begin());
  for (const TensorSpan& t : *tensors_) {
    const auto begin = static_cast<std::size_t>(t.offset);
    const std::size_t count =
        static_cast<std::size_t>(t.rows) * static_cast<std::size_t>(t.columns);
    // Layer-wise rules leave vectors (biases, batch norm) alone, as their authors do.
    double trust = 1;
    if (t.rows > 1 && (rule_ == OptimizerRule::lars || rule_ == OptimizerRule::lamb)) {
      const double weight = norm_of(parameters.subspan(begin, count));
      const double length = norm_of(std::span<const float>(direction_).subspan(begin, count));
      if (weight > 0 && length > 0)
        trust = weight / length * (rule_ == OptimizerRule::lars ? kTrust : 1);
    } else if (rule_ == OptimizerRule::lars) {
      trust = kTrust;
    }
    for (std::size_t i = begin; i < begin + count; ++i) {
      double along = trust * static_cast<double>(direction_[i]);
      if (!is_adaptive) {
        first_[i] = static_cast<float>(momentum_ * static_cast<double>(first_[i]) + along);
        along = static_cast<double>(first_[i]);
      }
      parameters[i] -= static_cast<float>(rate * along);
    }
  }
}
}  // namespace stepcast::runtime
