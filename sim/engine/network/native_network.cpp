#include "sim/engine/network/native_network.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace {
// Flows due within this share of the clock finish together: they differ by rounding (2^-52 per
// operation), and apart they would each cost a solve.
constexpr double kSameInstant = 1e-12;
// Marks the handle of a flow without links, which is a timer.
constexpr Network::Handle kTimerBit = Network::Handle{1} << 63;
constexpr double kNever = std::numeric_limits<double>::infinity();
// A solve that moves more than this share of the live flows makes pushing every new date dearer
// than looking through all dates once (a push costs about as much as reading 16 dates).
constexpr std::size_t kPushCost = 16;
// So many calm solves in a row, and the heap of all dates is built again.
constexpr int kCalmSolves = 8;
}  // namespace

LinkId NativeNetwork::link(const std::string&, double bytes_per_second) {
  carried_.push_back(0);
  return rates_.add_link(bytes_per_second);
}

void NativeNetwork::set_capacity(LinkId link, double bytes_per_second) {
  rates_.set_capacity(link, bytes_per_second);
}

Network::Handle NativeNetwork::start_flow(std::span<const LinkId> links, double bytes,
                                          Callback done) {
  STEPCAST_ASSERT(bytes > 0, "a flow has something to carry");
  if (links.empty()) return after(0, std::move(done)) | kTimerBit;
  const MaxMin::FlowSlot slot = rates_.add_flow(links);
  if (slot >= transfers_.size()) {
    transfers_.resize(slot + 1);
    progress_.resize(slot + 1);
    due_.resize(slot + 1);
  }
  progress_[slot] = {bytes, 0, now_};
  due_[slot] = kNever;
  Transfer& transfer = transfers_[slot];
  transfer.bytes = bytes;
  transfer.sequence = sequence_++;
  transfer.is_live = true;
  transfer.done = std::move(done);
  ++live_;
  return (static_cast<Handle>(transfer.identity & 0x7fffffffU) << 32) | (slot + 1);
}

Network::Callback NativeNetwork::finish(MaxMin::FlowSlot slot, double moved) {
  rates_.for_each_link_of(slot, [&](LinkId link) { carried_[link] += moved; });
  rates_.remove_flow(slot);
  due_[slot] = kNever;
  Transfer& transfer = transfers_[slot];
  transfer.is_live = false;
  ++transfer.identity;
  --live_;
  return std::exchange(transfer.done, nullptr);
}

void NativeNetwork::cancel_flow(Handle flow) {
  if ((flow & kTimerBit) != 0) return timers_.cancel(flow & ~kTimerBit);
  const auto slot = static_cast<std::uint32_t>(flow) - 1;
  if (slot >= transfers_.size() || !transfers_[slot].is_live) return;
  if ((transfers_[slot].identity & 0x7fffffffU) != flow >> 32) return;
  finish(slot, transfers_[slot].bytes - remaining_now(progress_[slot]));
}

Network::Handle NativeNetwork::after(double delay, Callback then) {
  STEPCAST_ASSERT(delay >= 0, "time runs forwards");
  return timers_.add(now_ + delay, sequence_++, std::move(then));
}

void NativeNetwork::push_completion(MaxMin::FlowSlot slot) {
  completions_.push({due_[slot], transfers_[slot].sequence, slot, 0});
}

void NativeNetwork::update_rates() {
  const auto changes = rates_.solve();
  if (changes.empty()) return;
  const bool is_calm = changes.size() * kPushCost <= live_ + kPushCost;
  if (!is_calm) holds_all_ = false;
  for (const auto& change : changes) {
    Progress& progress = progress_[change.flow];
    progress.remaining = std::max(0.0, remaining_now(progress));
    progress.since = now_;
    progress.rate = rates_.rate(change.flow);
    due_[change.flow] = progress.rate > 0 ? now_ + progress.remaining / progress.rate : kNever;
    if (holds_all_ && progress.rate > 0) push_completion(change.flow);
  }
  if (holds_all_) {
    if (completions_.size() > 64 && completions_.size() > 4 * live_)
      completions_.purge([this](const auto& entry) { return is_current(entry); });
    return;
  }
  completions_.clear();
  calm_solves_ = is_calm ? calm_solves_ + 1 : 0;
  if (calm_solves_ < kCalmSolves) return;
  calm_solves_ = 0;
  holds_all_ = true;
  for (MaxMin::FlowSlot slot = 0; slot < due_.size(); ++slot)
    if (due_[slot] < kNever) push_completion(slot);
}

// Puts the flows due next, and those that end with them, into the empty heap.
void NativeNetwork::find_earliest() {
  // Four minima at once: one would wait for itself at every step.
  std::array<double, 4> least;
  least.fill(kNever);
  std::size_t slot = 0;
  for (; slot + least.size() <= due_.size(); slot += least.size())
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], due_[slot + i]);
  for (; slot < due_.size(); ++slot) least[0] = std::min(least[0], due_[slot]);
  const double earliest = *std::min_element(least.begin(), least.end());
  if (earliest == kNever) return;
  for (MaxMin::FlowSlot due = 0; due < due_.size(); ++due)
    if (due_[due] * (1 - kSameInstant) <= earliest) push_completion(due);
}

double NativeNetwork::next_completion() {
  while (!completions_.empty() && !is_current(completions_.top())) completions_.pop();
  if (completions_.empty() && !holds_all_) find_earliest();
  return completions_.empty() ? kNever : completions_.top().date;
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
    if (timer == kNever && completion == kNever) return;
    const bool is_due = completion * (1 - kSameInstant) <= now_;
    const bool is_flow =
        is_due ? timer > now_ || completions_.top().sequence < timers_.next_sequence()
               : completion < timer ||
                     (completion == timer && completions_.top().sequence < timers_.next_sequence());
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
  rates_.for_each_flow_on(link, [&](MaxMin::FlowSlot slot) {
    bytes += transfers_[slot].bytes - remaining_now(progress_[slot]);
  });
  return bytes;
}
}  // namespace stepcast
