#pragma once
#include <string>
#include <vector>

#include "sim/engine/network.hpp"
#include "sim/engine/network/max_min.hpp"
#include "sim/engine/network/timers.hpp"

namespace stepcast {
/// Own event loop: a heap of timers, a heap of flow completions, and rates kept up to date incrementally.
/// Rates are solved once per instant, after everything that happens in it; a flow's remaining bytes are brought up to date
/// only when its rate changes. Without sharing it is the analytic network.
class NativeNetwork final : public Network {
 public:
  explicit NativeNetwork(MaxMin::Sharing sharing = MaxMin::Sharing::max_min) : rates_(sharing) {}
  LinkId link(const std::string& name, double bytes_per_second) override;
  void set_capacity(LinkId link, double bytes_per_second) override;
  Handle start_flow(std::span<const LinkId> links, double bytes, Callback done) override;
  void cancel_flow(Handle flow) override;
  Handle after(double delay, Callback then) override;
  void cancel_timer(Handle timer) override { timers_.cancel(timer); }
  double now() const override { return now_; }
  void run() override;
  std::uint64_t events() const override { return events_; }
  double bytes_carried(LinkId link) const override;

 private:
  struct Transfer {  // indexed by MaxMin::FlowSlot
    double bytes = 0, remaining = 0, rate = 0, since = 0;  // `remaining` holds at `since`
    std::uint64_t sequence = 0;
    std::uint32_t dated = 0;     // version of its completion date
    std::uint32_t identity = 0;  // version of its handle
    bool is_live = false;
    Callback done;
  };
  double remaining_now(const Transfer& transfer) const { return transfer.remaining - transfer.rate * (now_ - transfer.since); }
  void update_rates();
  double next_completion();
  Callback finish(MaxMin::FlowSlot slot, double moved);
  bool is_current(const EventHeap::Entry& entry) const { return transfers_[entry.owner].dated == entry.version; }

  double now_ = 0;
  std::uint64_t sequence_ = 0, events_ = 0;
  MaxMin rates_;
  std::vector<Transfer> transfers_;
  std::vector<double> carried_;  // per link, by finished and cancelled flows
  std::size_t live_ = 0;
  EventHeap completions_;
  Timers timers_;
};
}  // namespace stepcast
