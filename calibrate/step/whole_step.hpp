#pragma once
#include <array>
#include <vector>

#include "calibrate/measure/bench.hpp"
#include "calibrate/step/call_log.hpp"
#include "calibrate/step/step_plan.hpp"

namespace stepcast::calibrate {

/// The real step on all ranks, with and without the recorder.
class WholeStep {
 public:
  WholeStep(Bench& bench, const runtime::TrainingPlan& plan);
  /// Some steps, every second one traced. Throws EnvironmentError when the loss is not a number.
  void round();
  /// Whether the median step is known to within the rule's half width.
  bool is_precise() const;
  /// "step/measured" without and "step/traced" with the recorder on (slowest rank each),
  /// "step/part/<category>" of rank 0 by step_breakdown, and the loss of the last step as
  /// "step/loss".
  std::vector<Entry> entries() const;
  /// The collectives of one step.
  const std::vector<CollectiveCall>& calls() const { return log_.calls(); }
  /// Elements of its gradient buckets.
  std::vector<std::int64_t> bucket_elements() const;

 private:
  double untraced_step();
  RecordedStep traced_step();
  Bench& bench_;
  CallLog log_;
  runtime::Trainer trainer_;
  std::int64_t step_ = 0;
  int steps_per_round_ = 4;
  double loss_ = 0;
  Sampler untraced_{every_sample()}, traced_{every_sample()};
  std::vector<double> untraced_s_;
  std::array<std::vector<double>, kCategories> parts_;
};
}  // namespace stepcast::calibrate
