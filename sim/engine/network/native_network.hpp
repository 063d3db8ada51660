#pragma once
#include <string>
#include <vector>

#include "sim/engine/network.hpp"
#include "sim/engine/network/max_min.hpp"
#include "sim/engine/network/timers.hpp"

namespace stepcast {
/// Own event loop: a heap of timers, dates of flow completions, and rates kept up to date
/// incrementally. Rates are solved once per instant, after everything that happens in it; a flow's
/// remaining bytes are brought up to date only when its rate changes. Without sharing it is the
/// analytic network.
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
  // Indexed by MaxMin::FlowSlot, as due_; this and due_ is what every solve touches.
  struct Progress {
    double remaining = 0, rate = 0, since = 0;
  };  // `remaining` holds at `since`
  struct Transfer {
    double bytes = 0;
    std::uint64_t sequence = 0;
    std::uint32_t identity = 0;  // version of its handle
    bool is_live = false;
    Callback done;
  };
  double remaining_now(const Progress& progress) const {
    return progress.remaining - progress.rate * (now_ - progress.since);
  }
  void update_rates();
  void push_completion(MaxMin::FlowSlot slot);
  void find_earliest();
  double next_completion();
  Callback finish(MaxMin::FlowSlot slot, double moved);
  /// A date in the heap is good while it is the flow's date: a reused slot or a new rate moves it.
  bool is_current(const EventHeap::Entry& entry) const {
    return due_[entry.owner] == entry.date && transfers_[entry.owner].sequence == entry.sequence;
  }

  double now_ = 0;
  std::uint64_t sequence_ = 0, events_ = 0;
  MaxMin rates_;
  std::vector<Progress> progress_;
  std::vector<double> due_;  // dates of completion; never while the rate is 0
  std::vector<Transfer> transfers_;
  std::vector<double> carried_;  // per link, by finished and cancelled flows
  std::size_t live_ = 0;
  // Holds all completions, or, where most rates change with every event, only those due next.
  EventHeap completions_;
  bool holds_all_ = true;
  int calm_solves_ = 0;  // in a row, while not all are held
  Timers timers_;
};
}  // namespace stepcast
