#pragma once
#include <optional>
#include <vector>

#include "runtime/compress/compressor.hpp"
#include "runtime/converge/learning_task.hpp"
#include "runtime/converge/update_order.hpp"

namespace stepcast::runtime {

struct LossPoint {
  double step = 0, loss = 0;
};  // steps of the global batch; held-out nats per sample
struct TrainingOutcome {
  std::vector<LossPoint> curve;
  std::optional<double>
      steps_to_target;  // first crossing, interpolated; none: not within the steps
  double final_loss = 0;
  bool has_diverged = false;  // not finite, or held-out loss over three times the start's
  double mean_staleness = 0;
  double bytes_per_step = 0;        // payload sent by one worker per step of the global batch
  double gradient_noise_scale = 0;  // samples; lockstep with two workers or more, else 0
};

/// What is trained: the same seed gives the same outcome, bit for bit, on one machine.
struct TrainingSetup {
  const LearningTask* task = nullptr;
  ConvergenceSpec spec;  // `workers` is the order's
  UpdateOrder order;
  std::optional<CompressorChoice> compressor;
  double compressor_warmup_steps =
      0;  // the share kept falls from 1/4 to the compressor's by factors of 4 (Lin et al. 2018)
  int workers_per_node =
      1;  // lockstep: so many gradients are summed exactly before the rest is compressed
  std::uint64_t seed = 1;
};
TrainingOutcome train(const TrainingSetup& setup);
}  // namespace stepcast::runtime
