#include "sim/engine/network/native_network.hpp"

#include <algorithm>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace {
// Flows due within this share of the clock finish together: they differ by rounding (2^-52 per operation), and
// apart they would each cost a solve.
constexpr double kSameInstant = 1e-12;
// Marks the handle of a flow without links, which is a timer.
constexpr Network::Handle kTimerBit = Network::Handle{1} << 63;
}  // namespace

LinkId NativeNetwork::link(const std::string&, double bytes_per_second) {
  carried_.push_back(0);
  return rates_.add_link(bytes_per_second);
}

void NativeNetwork::set_capacity(LinkId link, double bytes_per_second) { rates_.set_capacity(link, bytes_per_second); }

Network::Handle NativeNetwork::start_flow(std::span<const LinkId> links, double bytes, Callback done) {
  STEPCAST_ASSERT(bytes > 0, "a flow has something to carry");
  if (links.empty()) return after(0, std::move(done)) | kTimerBit;
  const MaxMin::FlowSlot slot = rates_.add_flow(links);
  if (slot >= transfers_.size()) transfers_.resize(slot + 1);
  Transfer& transfer = transfers_[slot];
  transfer.bytes = transfer.remaining = bytes;
  transfer.rate = 0;
  transfer.since = now_;
  transfer.sequence = sequence_++;
  transfer.is_live = true;
  transfer.done = std::move(done);
  ++live_;
  return (static_cast<Handle>(transfer.identity & 0x7fffffffU) << 32) | (slot + 1);
}

Network::Callback NativeNetwork::finish(MaxMin::FlowSlot slot, double moved) {
  rates_.for_each_link_of(slot, [&](LinkId link) { carried_[link] += moved; });
  rates_.remove_flow(slot);
  Transfer& transfer = transfers_[slot];
  transfer.is_live = false;
  ++transfer.identity;
  ++transfer.dated;
  --live_;
  return std::exchange(transfer.done, nullptr);
}

void NativeNetwork::cancel_flow(Handle flow) {
  if ((flow & kTimerBit) != 0) return timers_.cancel(flow & ~kTimerBit);
  const auto slot = static_cast<std::uint32_t>(flow) - 1;
  if (slot >= transfers_.size() || !transfers_[slot].is_live) return;
  if ((transfers_[slot].identity & 0x7fffffffU) != flow >> 32) return;
  finish(slot, transfers_[slot].bytes - remaining_now(transfers_[slot]));
}

Network::Handle NativeNetwork::after(double delay, Callback then) {
  STEPCAST_ASSERT(delay >= 0, "time runs forwards");
  return timers_.add(now_ + delay, sequence_++, std::move(then));
}

void NativeNetwork::update_rates() {
  if (!rates_.is_dirty()) return;
  for (const auto& change : rates_.solve()) {
    Transfer& transfer = transfers_[change.flow];
    transfer.remaining = std::max(0.0, remaining_now(transfer));
    transfer.since = now_;
    transfer.rate = rates_.rate(change.flow);
    ++transfer.dated;
    if (transfer.rate > 0)
      completions_.push({now_ + transfer.remaining / transfer.rate, transfer.sequence, change.flow, transfer.dated});
  }
  if (completions_.size() > 64 && completions_.size() > 4 * live_)
    completions_.purge([this](const auto& entry) { return is_current(entry); });
}

double NativeNetwork::next_completion() {
  while (!completions_.empty() && !is_current(completions_.top())) completions_.pop();
  return completions_.empty() ? Timers::kNever : completions_.top().date;
}

void NativeNetwork::run() {
  for (;;) {
    const double timer = timers_.next_date();
    double completion = next_completion();
    // Everything of this instant comes before the solve: it may start and end flows.
    if (timer > now_ && completion * (1 - kSameInstant) > now_ && rates_.is_dirty()) {
      update_rates();
      completion = next_completion();
    }
    if (timer == Timers::kNever && completion == Timers::kNever) return;
    const bool is_due = completion * (1 - kSameInstant) <= now_;
    const bool is_flow = is_due ? timer > now_ || completions_.top().sequence < timers_.next_sequence()
                                : completion < timer || (completion == timer && completions_.top().sequence < timers_.next_sequence());
    Callback next;
    if (is_flow) {
      if (!is_due) now_ = completion;
      const MaxMin::FlowSlot slot = completions_.pop().owner;
      next = finish(slot, transfers_[slot].bytes);
    } else {
      now_ = std::max(now_, timer);
      next = timers_.pop();
    }
    ++events_;
    if (next) next();
  }
}

double NativeNetwork::bytes_carried(LinkId link) const {
  double bytes = carried_[link];
  rates_.for_each_flow_on(link, [&](MaxMin::FlowSlot slot) { bytes += transfers_[slot].bytes - remaining_now(transfers_[slot]); });
  return bytes;
}
}  // namespace stepcast
