#pragma once
#include <algorithm>
#include <functional>
#include <utility>

#include "sim/data/supply.hpp"
#include "sim/engine/network.hpp"

namespace stepcast {
/// Loaders behind a network's clock. They are a simulation with events of their own; while somebody
/// waits for a batch, one timer stands at their next event.
class SupplyPort {
 public:
  using Served = std::function<void(std::uint32_t consumer)>;
  /// `clock_s`: moment of the run at which the network's clock is 0. `served` is always called
  /// from a timer, never inside ask().
  SupplyPort(DataSupply& supply, Network& network, double clock_s, Served served)
      : supply_(supply), network_(network), clock_s_(clock_s), served_(std::move(served)) {}

  void ask(std::uint32_t consumer) {
    ++waiting_;
    supply_.ask(consumer, now());
    watch();
  }
  /// Network time at which the batch that the consumer took last was complete.
  double ready_at(std::uint32_t consumer) const { return supply_.ready_at(consumer) - clock_s_; }
  /// Lets the loaders work up to the network's present, and says what they were recorded doing.
  std::vector<LoaderSpan> spans() {
    supply_.advance(now());
    return supply_.spans();
  }

 private:
  double now() const { return std::max(supply_.now(), clock_s_ + network_.now()); }
  void watch() {
    for (const std::uint32_t consumer : supply_.take_served()) {
      --waiting_;
      network_.after(0, [this, consumer] { served_(consumer); });
    }
    if (timer_ != 0) network_.cancel_timer(timer_);
    timer_ = 0;
    if (waiting_ == 0) return;
    const double next = supply_.next_event();
    timer_ = network_.after(std::max(0.0, next - clock_s_ - network_.now()), [this, next] {
      timer_ = 0;
      // The event itself, whatever the network's clock makes of the sum.
      supply_.advance(std::max(next, now()));
      watch();
    });
  }

  DataSupply& supply_;
  Network& network_;
  double clock_s_;
  Served served_;
  std::size_t waiting_ = 0;
  Network::Handle timer_ = 0;
};
}  // namespace stepcast
