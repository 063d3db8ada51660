#include "calibrate/step/op_piece.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/step/typical_steps.hpp"
#include "runtime/launch/tcp_store.hpp"
#include "sim/profile/kernel_key.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast::calibrate {
using runtime::TrainingPlan;

OpPiece::OpPiece(Bench& bench, const TrainingPlan& plan)
    : bench_(bench),
      ops_(ops_of(few_blocks(plan))),
      store_(runtime::new_local_store(bench.time_limit)),
      trainer_(bench.backend, bench.device, *store_, 0, few_blocks(plan)) {
  double whole_s = 0;
  for (int i = 0; i < 3; ++i) whole_s = step_of_this_rank().back();
  steps_per_round_ = std::clamp(static_cast<int>(kTurn_s / slowest_of(bench, whole_s)), 3, 50);
}

std::vector<double> OpPiece::step_of_this_rank() {
  trainer_.load_batches(++step_);
  bench_.world.barrier();
  const auto [timeline, wall_s] = recorded_step(trainer_, step_);
  const std::vector<const Span*> spans = compute_spans(timeline);
  STEPCAST_ASSERT(spans.size() == ops_.size(),
                  "a measured step is the simulated step's ops, op by op "
                  "(tests/runtime/step/op_order_test.cpp)");
  std::vector<double> figures;
  double idle_s = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    STEPCAST_ASSERT(timeline.names.text_of(spans[i]->name) == ops_[i].name,
                    "the two lists name the same ops");
    figures.push_back(seconds_from_ns(spans[i]->end - spans[i]->start).value);
    if (i > 0)
      idle_s +=
          seconds_from_ns(std::max<Nanoseconds>(0, spans[i]->start - spans[i - 1]->end)).value;
  }
  const double extent_s = seconds_from_ns(spans.back()->end - spans.front()->start).value;
  figures.push_back(idle_s / static_cast<double>(ops_.size()));
  figures.push_back(std::max(1e-9, wall_s - extent_s));
  figures.push_back(wall_s);
  return figures;
}

void OpPiece::round() {
  step_of_this_rank();  // finds in the caches what another piece left there
  for (int i = 0; i < steps_per_round_; ++i) {
    std::vector<std::vector<double>> ranks = of_all_ranks(bench_, step_of_this_rank());
    steps_.push_back(std::move(*std::max_element(
        ranks.begin(), ranks.end(),
        [](const auto& left, const auto& right) { return left.back() < right.back(); })));
  }
}

std::vector<Entry> OpPiece::entries() const {
  std::map<std::string, std::vector<std::size_t>> columns;  // of a step's figures, by key
  for (std::size_t i = 0; i < ops_.size(); ++i) columns[kernel_key(ops_[i])].push_back(i);
  columns["step/gap"] = {ops_.size()};
  columns["step/edges"] = {ops_.size() + 1};
  const std::vector<std::size_t> typical = typical_steps(steps_);
  std::vector<Entry> entries;
  for (const auto& [key, of_key] : columns)
    entries.push_back({key, summary_of_columns(steps_, of_key, typical)});
  return entries;
}
bool OpPiece::has(const std::string& key) const {
  return std::any_of(ops_.begin(), ops_.end(), [&](const Op& op) { return kernel_key(op) == key; });
}
}  // namespace stepcast::calibrate
