#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/lowering/lowering.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/straggler/storage_queue.hpp"

namespace stepcast {
/// Time that a rank's own slowness lengthens, as a monitor sees it: work and standstill, without
/// waiting for others.
double working_s(const Breakdown& breakdown);
/// By worker: its seconds over the median of its stage, because stages differ in work; 0 where that
/// is 0.
std::vector<double> slowness_in_stage(const std::vector<Worker>& workers,
                                      const std::vector<double>& seconds);

/// One run, step after step: the clock goes on, so that bursts, drift, loaders and evictions are
/// where they should be.
class StepSeries {
 public:
  StepSeries(const Scenario& scenario, const StepGraph& graph, const Profile& profile,
             Exemptions exempt = {});
  /// False: every step of this run equals the first.
  bool steps_differ() const { return differs_; }
  /// Goes on with another graph of the same scenario (a compressor whose share changes).
  void use_graph(const StepGraph& graph);
  StepOutcome next(EngineKind engine, const ExecuteOptions& options);
  const Lowered& lowered() const { return lowered_; }
  /// A step in which no batch is late; none without a loader. Known once a step was run.
  std::optional<double> unstalled_s() const { return unstalled_s_; }
  double clock_s() const { return clock_s_; }  // end of the last step, standstills included
  const std::vector<Eviction>& evictions() const { return evictions_; }

 private:
  void lower_again();
  void prepare();
  void judge(const StepOutcome& outcome);
  void begin_loading(EngineKind engine);

  const Scenario& scenario_;
  const StepGraph* graph_;
  const Profile& profile_;
  Exemptions exempt_;
  Lowered lowered_;
  bool differs_ = false;
  int step_ = 0;
  double clock_s_ = 0;
  std::vector<double> base_pause_;                  // by worker
  std::vector<BytesPerSecond> base_capacity_;       // by link
  std::vector<std::vector<StorageQueue>> loaders_;  // by worker
  std::unique_ptr<DataSupply> supply_;
  std::optional<double> unstalled_s_;
  std::vector<double> work_s_;  // by worker, over the eviction window
  int window_ = 0;
  std::vector<Eviction> evictions_;
};
}  // namespace stepcast
