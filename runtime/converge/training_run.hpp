#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/compress/local_group.hpp"
#include "runtime/converge/optimizer.hpp"
#include "runtime/converge/training.hpp"

namespace stepcast::runtime {
/// State that all ways of synchronising share: samples, gradients, compressors, looks at the
/// held-out loss.
class TrainingRun {
 public:
  explicit TrainingRun(const TrainingSetup& setup);
  TrainingOutcome run();

 private:
  void lockstep();
  void stale();
  void averaging();
  void elastic();
  void pairs();
  void ring();

  int workers() const { return setup_.order.workers; }
  std::int64_t parameter_count() const { return setup_.task->network.parameters(); }
  double samples_per_update() const { return setup_.spec.worker_batch * setup_.spec.accumulation; }
  std::vector<float> initial() const { return setup_.task->network.initialised(setup_.seed); }
  Optimizer new_optimizer() const {
    return {setup_.spec, setup_.task->network.tensors(), parameter_count()};
  }
  /// Gradients of `count` workers from `first`, accumulated over their micro-batches.
  void gradients(std::span<const float> parameters, std::int64_t step, int first, int count,
                 std::vector<std::vector<float>>& out);
  /// A worker's own steps `from` to `to` on its own parameters.
  void local_steps(std::vector<float>& parameters, Optimizer& optimizer, int worker,
                   std::int64_t from, std::int64_t to);
  /// Mean of gradients, through the compressor (which overwrites them) where there is one; counts
  /// the bytes sent.
  std::vector<float> reduced(std::vector<std::vector<float>>& gradients, LocalGroup* group);
  static std::vector<float> mean_of(const std::vector<std::vector<float>>& vectors);
  double parameter_bytes() const {
    return static_cast<double>(sizeof(float)) * static_cast<double>(parameter_count());
  }
  /// Entry of an order that starts over, and the step of the global batch at which an exchange of
  /// one worker stands.
  const UpdateEntry& entry_at(std::int64_t index) const {
    return setup_.order.entries[static_cast<std::size_t>(index) % setup_.order.entries.size()];
  }
  double step_of_exchange(std::int64_t exchange) const {
    return static_cast<double>(exchange * setup_.order.period) / workers();
  }
  /// Compressors for `ranks` at `step`, where there is compression; a new set (without residual)
  /// when the warm-up moves on.
  struct Group {
    std::unique_ptr<LocalGroup> members;
    double ratio = -1;
  };
  void refresh(Group& group, int ranks, double step) const;
  void note_noise(const std::vector<std::vector<float>>& gradients);
  /// Takes the held-out loss when a look is due; true when training is over.
  bool look(double step, std::span<const float> parameters);
  bool is_look_due(double step) const { return step >= next_look_ || step >= setup_.spec.steps; }

  const TrainingSetup& setup_;
  TrainingOutcome outcome_;
  double next_look_ = 0;
  double sent_bytes_ = 0;
  double small_norm_ = 0,
         large_norm_ = 0;  // sums of squared gradient norms, one worker's and the mean's
  std::int64_t norms_ = 0;
};
}  // namespace stepcast::runtime
