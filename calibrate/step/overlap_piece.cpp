#include "calibrate/step/overlap_piece.hpp"

#include <algorithm>

#include "runtime/step/train_step.hpp"
#include "sim/core/robust_stats.hpp"

namespace stepcast::calibrate {
namespace {
/// One kernel of the side stream: about a millisecond on a CPU core.
constexpr std::int64_t kKernelElements = std::int64_t{1} << 20;
/// Of the computation's time that the side's work takes alone. Below 1, so that it ends before the
/// computation also where it is slowed; large, so that what it costs stands out of the noise.
constexpr double kMessageShare = 0.6, kKernelShare = 0.3;
}  // namespace

OverlapPiece::OverlapPiece(Bench& bench, OpPiece& ops, CollectivePiece& collectives,
                           bool decodes_beside)
    : bench_(bench), ops_(ops), collectives_(collectives), decodes_beside_(decodes_beside) {
  for (std::size_t i = 0; i < collectives.calls().size(); ++i)
    if (collectives.calls()[i].stream != "compute") beside_.push_back(i);
  if (!decodes_beside_) return;
  kernel_input_ = runtime::Buffer(bench.device, kKernelElements, Precision::fp32);
  kernel_output_ = runtime::Buffer(bench.device, 1, Precision::fp32);
  bench.device.fill_zero(bench.side, kernel_input_.data(), kernel_input_.bytes());
  bench.side.synchronise();
}

Window OverlapPiece::window(bool computes, const std::function<void()>& enqueue_side) {
  if (!computes)
    return window_of(
        bench_, [] {}, enqueue_side);
  ops_.trainer().load_batches(++step_);
  return window_of(
      bench_, [this] { runtime::train_step(ops_.trainer(), step_); }, enqueue_side);
}

void OverlapPiece::choose_messages(double compute_s) {
  double seconds = 0;
  for (std::size_t i = 0; seconds < kMessageShare * compute_s && i < 10'000; ++i) {
    const std::size_t index = beside_[i % beside_.size()];
    const double one = collectives_.seconds_of(index);
    if (!messages_.empty() && seconds + one > compute_s) break;
    messages_.push_back(index);
    seconds += one;
  }
}

void OverlapPiece::round() {
  if (beside_.empty()) return;
  const auto nothing = [] {};
  window(true, nothing);  // finds in the caches what another piece left there
  compute_alone_.push_back(window(true, nothing).compute_s);
  if (messages_.empty()) choose_messages(compute_alone_.front());
  const auto messages = [&] {
    for (const std::size_t index : messages_) collectives_.run(index);
  };
  collectives_.refill();
  messages_alone_.push_back(window(false, messages).side_s);
  collectives_.refill();
  window(true, nothing);
  const Window both = window(true, messages);
  compute_.push_back(both.compute_s);
  messages_beside_.push_back(both.side_s);
  compute_alone_.push_back(window(true, nothing).compute_s);
  if (!decodes_beside_) return;
  const auto kernels = [&] {
    for (int i = 0; i < kernels_; ++i)
      bench_.device.kernels().square_sum(bench_.side, kernel_input_.view(), kernel_output_.view(),
                                         kKernelElements);
  };
  if (kernels_ == 0) {
    kernels_ = 1;
    window(false, kernels);
    const double one = slowest_of(bench_, window(false, kernels).side_s);
    kernels_ = std::max(1, static_cast<int>(kKernelShare * compute_alone_.front() / one));
  }
  kernels_alone_.push_back(window(false, kernels).side_s);
  window(true, nothing);
  const Window beside = window(true, kernels);
  compute_by_kernels_.push_back(beside.compute_s);
  kernels_beside_.push_back(beside.side_s);
}

std::vector<Entry> OverlapPiece::entries() const {
  if (compute_.empty()) return {};
  const double alone = median(compute_alone_);
  const Interference messages = interference_of({.compute_alone = alone,
                                                 .side_alone = median(messages_alone_),
                                                 .compute = median(compute_),
                                                 .side = median(messages_beside_)});
  const char* what = "a factor, not a time";
  std::vector<Entry> entries{{"overlap/compute", plain_figure(messages.compute, what)},
                             {"overlap/comm", plain_figure(messages.side, what)}};
  if (decodes_beside_)
    entries.push_back({"overlap/kernels", plain_figure(slowdown_by_charged_work(
                                                           {.compute_alone = alone,
                                                            .side_alone = median(kernels_alone_),
                                                            .compute = median(compute_by_kernels_),
                                                            .side = median(kernels_beside_)}),
                                                       what)});
  return entries;
}
}  // namespace stepcast::calibrate
