#pragma once
#include <limits>

#include "sim/engine/network/event_heap.hpp"
#include "sim/engine/network/slots.hpp"

namespace stepcast {
/// Pending timers of a network with its own clock.
class Timers {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  Network::Handle add(double date, std::uint64_t sequence, Network::Callback then) {
    const std::uint32_t slot = slots_.insert(std::move(then));
    heap_.push({date, sequence, slot, slots_.version(slot)});
    return slots_.handle_of(slot);
  }
  void cancel(Network::Handle handle) {
    if (const auto slot = slots_.find(handle); slot >= 0) {
      slots_.take(static_cast<std::uint32_t>(slot));
      if (heap_.size() > 64 && heap_.size() > 4 * slots_.live())
        heap_.purge([this](const auto& e) { return is_current(e); });
    }
  }
  double next_date() {
    while (!heap_.empty() && !is_current(heap_.top())) heap_.pop();
    return heap_.empty() ? kNever : heap_.top().date;
  }
  std::uint64_t next_sequence() const { return heap_.top().sequence; }
  Network::Callback pop() { return slots_.take(heap_.pop().owner); }

 private:
  bool is_current(const EventHeap::Entry& e) const {
    return slots_.is_live(e.owner) && slots_.version(e.owner) == e.version;
  }
  Slots<Network::Callback> slots_;
  EventHeap heap_;
};
}  // namespace stepcast
