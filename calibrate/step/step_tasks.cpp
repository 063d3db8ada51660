#include "calibrate/step/step_tasks.hpp"

#include <optional>

#include "calibrate/step/codec_piece.hpp"
#include "calibrate/step/collective_piece.hpp"
#include "calibrate/step/op_piece.hpp"
#include "calibrate/step/overlap_piece.hpp"
#include "calibrate/step/whole_step.hpp"

namespace stepcast::calibrate {
namespace {
void append(std::vector<Entry>& to, std::vector<Entry> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}
/// Some op of the optimizer is not among those of the shortened model.
bool lacks_optimizer(const OpPiece& ops, const OptimizerPiece& optimizer) {
  for (const Entry& entry : optimizer.entries())
    if (!ops.has(entry.key)) return true;
  return false;
}
class Rounds {
 public:
  Rounds(Bench& bench, const runtime::TrainingPlan& plan) : whole_(bench, plan) {
    if (plan.layout.tp == 1) {  // with more, ops come from the sweeps
      ops_.emplace(bench, plan);
      optimizer_.emplace(bench, plan);
      if (!lacks_optimizer(*ops_, *optimizer_)) optimizer_.reset();
    }
    collectives_.emplace(bench, whole_.calls());
    const bool compresses = plan.buckets.compressor && plan.layout.dp > 1;
    if (compresses) codec_.emplace(bench, *plan.buckets.compressor, whole_.bucket_elements());
    if (ops_ && plan.buckets.overlaps) overlap_.emplace(bench, *ops_, *collectives_, compresses);
  }
  void round() {
    if (ops_) ops_->round();
    if (optimizer_) optimizer_->round();
    collectives_->round();
    if (codec_) codec_->round();
    if (overlap_) overlap_->round();
    whole_.round();
  }
  bool is_precise() const { return whole_.is_precise(); }
  std::vector<Entry> entries() const {
    std::vector<Entry> entries = whole_.entries();
    append(entries, collectives_->entries());
    if (codec_) append(entries, codec_->entries());
    if (overlap_) append(entries, overlap_->entries());
    if (ops_) append(entries, ops_->entries());
    if (optimizer_)
      for (Entry& entry : optimizer_->entries())
        if (!ops_->has(entry.key)) entries.push_back(std::move(entry));
    return entries;
  }

 private:
  WholeStep whole_;
  std::optional<OpPiece> ops_;
  std::optional<OptimizerPiece> optimizer_;
  std::optional<CollectivePiece> collectives_;
  std::optional<CodecPiece> codec_;
  std::optional<OverlapPiece> overlap_;
};
}  // namespace

Task step_task(const Scenario& scenario) {
  return {
      "step/measured", [scenario](Bench& bench) {
        Rounds rounds(bench, plan_of(scenario, bench.time_limit, bench.interface));
        // Of the time that one measurement may take: a step has a hundred pieces.
        constexpr double kTimes = 120;
        constexpr int kFewest = 3;
        const Nanoseconds begin = runtime::Recorder::now();
        for (int round = 1;; ++round) {
          rounds.round();
          const double elapsed =
              slowest_of(bench, seconds_from_ns(runtime::Recorder::now() - begin).value);
          if (round >= kFewest && (rounds.is_precise() || elapsed > kTimes * bench.rule.max_time_s))
            return rounds.entries();
        }
      }};
}
}  // namespace stepcast::calibrate
