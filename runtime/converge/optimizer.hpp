#pragma once
#include <span>
#include <vector>

#include "runtime/converge/network.hpp"

namespace stepcast::runtime {
/// One copy of optimizer state over a flat parameter vector.
class Optimizer {
 public:
  Optimizer(const ConvergenceSpec& spec, const std::vector<TensorSpan>& tensors,
            std::int64_t parameters);
  /// parameters -= rate * direction(gradient).
  void update(std::span<float> parameters, std::span<const float> gradient, double rate);

 private:
  void adam_direction(std::span<const float> gradient);
  OptimizerRule rule_;
  double momentum_;
  const std::vector<TensorSpan>* tensors_;
  std::vector<float> first_, second_,
      direction_;  // momentum or mean; Adam's mean of squares; this step's direction
  std::int64_t steps_ = 0;
};

/// Learning rate of update number `step` (from 0) that averages `batch` samples: rule, then linear
/// warm-up.
double learning_rate(const ConvergenceSpec& spec, double batch, double step);
/// Scales the gradient down to `norm` where it is longer; 0 leaves it.
void clip(std::span<float> gradient, double norm);
}  // namespace stepcast::runtime
