#include "calibrate/step/whole_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/step/op_piece.hpp"
#include "calibrate/step/step_accounting.hpp"
#include "runtime/step/train_step.hpp"

namespace stepcast::calibrate {

WholeStep::WholeStep(Bench& bench, const runtime::TrainingPlan& plan)
    : bench_(bench),
      log_(bench.backend),
      trainer_(log_, bench.device, bench.store, bench.world.rank(), plan) {
  double step_s = 0;
  for (int i = 0; i < 3; ++i) {  // warm-up
    log_.start();
    step_s = untraced_step();
    log_.stop();
  }
  // As many of either kind, and of each as long a turn as a piece has.
  steps_per_round_ = 2 * std::clamp(static_cast<int>(kTurn_s / step_s), 3, 25);
}

double WholeStep::untraced_step() {
  trainer_.load_batches(++step_);
  bench_.device.synchronise();
  bench_.world.barrier();
  const Nanoseconds from = runtime::Recorder::now();
  runtime::train_step(trainer_, step_);
  bench_.device.synchronise();
  return slowest_of(bench_, seconds_from_ns(runtime::Recorder::now() - from).value);
}
RecordedStep WholeStep::traced_step() {
  trainer_.load_batches(++step_);
  bench_.device.synchronise();
  bench_.world.barrier();
  return recorded_step(trainer_, step_);
}

void WholeStep::round() {
  untraced_step();  // finds in the caches what another piece left there
  for (int i = 0; i < steps_per_round_; i += 2) {
    untraced_s_.push_back(untraced_step());
    untraced_.add(untraced_s_.back());
    const RecordedStep recorded = traced_step();
    traced_.add(slowest_of(bench_, recorded.wall_s));
    Nanoseconds end = 0;
    for (const Span& span : recorded.timeline.spans) end = std::max(end, span.end);
    const Breakdown breakdown = step_breakdown(recorded.timeline, 0, end);
    for (std::size_t category = 0; category < parts_.size(); ++category)
      parts_[category].push_back(breakdown[category]);
  }
  loss_ = trainer_.mean_loss();
  if (!std::isfinite(loss_))
    throw EnvironmentError(
        fmt::format("the loss of step {} is not a number; the device computes wrongly, or the "
                    "learning rate is too high",
                    step_));
}

bool WholeStep::is_precise() const {
  return median_half_width(untraced_s_) <= bench_.rule.half_width;
}

std::vector<Entry> WholeStep::entries() const {
  std::vector<Entry> entries{{"step/measured", untraced_.summary()},
                             {"step/traced", traced_.summary()}};
  for (const auto& [category, name] : EnumText<Category>::table) {
    Sampler all(every_sample());
    for (const double seconds : parts_[static_cast<std::size_t>(category)]) all.add(seconds);
    entries.push_back({"step/part/" + std::string(name), all.summary()});
  }
  entries.push_back({"step/loss", plain_figure(loss_, "nats per row of the loss, not a time")});
  return entries;
}

std::vector<std::int64_t> WholeStep::bucket_elements() const {
  std::vector<std::int64_t> elements;
  for (const runtime::Bucket& bucket : trainer_.buckets->buckets())
    elements.push_back(bucket.end - bucket.begin);
  return elements;
}
}  // namespace stepcast::calibrate
