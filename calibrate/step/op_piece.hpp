#pragma once
#include <map>
#include <string>
#include <vector>

#include "calibrate/measure/bench.hpp"
#include "calibrate/step/step_plan.hpp"

namespace stepcast::calibrate {

/// How long a piece runs before the next one has its turn. Long against the first step after a
/// turn, which finds another piece's data in the caches; short against the seconds in which a
/// machine's speed drifts.
inline constexpr double kTurn_s = 0.4;

/// The ops of a step one by one, as they run behind each other in a training loop: a few blocks of
/// its widths on one rank, all ranks computing at once, each span matched with the simulator's op
/// (the lists are equal, op by op).
class OpPiece {
 public:
  OpPiece(Bench& bench, const runtime::TrainingPlan& plan);
  /// Some steps of every rank together. Every rank waits for the slowest of them, as it does in the
  /// step that is forecast, so the slowest one's ops count.
  void round();
  /// Keyed by kernel_key, so that the forecast of any depth, bucket or rank count takes exactly
  /// these. Also "step/gap": idle between ops of the stream; "step/edges": from the host's first
  /// call to the first op and from the last op to the host's return, together.
  std::vector<Entry> entries() const;
  bool has(const std::string& key) const;
  /// The training loop, for measurements that want a step's computation beside something else.
  runtime::Trainer& trainer() { return trainer_; }

 private:
  /// Durations of the ops, then the mean gap, the edges, and the whole: one step of one rank.
  std::vector<double> step_of_this_rank();
  Bench& bench_;
  std::vector<Op> ops_;
  std::unique_ptr<runtime::Store> store_;
  runtime::Trainer trainer_;
  std::int64_t step_ = 0;
  int steps_per_round_ = 3;
  std::vector<std::vector<double>> steps_;
};

/// The optimizer's ops at the whole model's size, which a few blocks do not have.
class OptimizerPiece {
 public:
  OptimizerPiece(Bench& bench, const runtime::TrainingPlan& plan);
  void round();
  std::vector<Entry> entries() const;

 private:
  Bench& bench_;
  std::vector<runtime::Buffer> buffers_;
  std::vector<std::pair<Op, std::function<void()>>> sequence_;
  std::vector<std::vector<double>> samples_;  // by op of the sequence
};
}  // namespace stepcast::calibrate
