#include "sim/engine/network/max_min.hpp"

#include <algorithm>
#include <functional>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace {
// Two shares that differ by less are the same share computed along two ways: sums over at most ~1e4 flows of doubles
// (2^-53 each) stay below it. Rates that move by less are left alone, so that flows which should end together do.
constexpr double kRelativeNoise = 1e-12;
// Violations are rarely chained; past this many rounds the whole component is taken at once.
constexpr int kIncrementalRounds = 6;
}  // namespace

LinkId MaxMin::add_link(double capacity) {
  links_.emplace_back().capacity = capacity;
  return static_cast<LinkId>(links_.size() - 1);
}

void MaxMin::set_capacity(LinkId link, double capacity) {
  Link& changed = links_[link];
  if (changed.capacity == capacity) return;
  changed.capacity = capacity;
  if (changed.is_dirty || changed.members.empty()) return;
  changed.is_dirty = true;
  dirty_links_.push_back(link);
}

MaxMin::FlowSlot MaxMin::add_flow(std::span<const LinkId> route) {
  STEPCAST_ASSERT(!route.empty(), "the network answers flows without links by itself");
  FlowSlot slot;
  if (free_flows_.empty()) {
    slot = static_cast<FlowSlot>(flows_.size());
    flows_.emplace_back();
  } else {
    slot = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& flow = flows_[slot];
  flow.is_live = flow.is_new = true;
  flow.rate = 0;
  flow.bottleneck = kNoLink;
  flow.hops.clear();
  for (const LinkId link : route) {
    auto& members = links_[link].members;
    members.push_back({slot, static_cast<std::uint32_t>(flow.hops.size())});
    flow.hops.push_back({link, static_cast<std::uint32_t>(members.size() - 1)});
  }
  new_flows_.push_back(slot);
  return slot;
}

void MaxMin::remove_flow(FlowSlot slot) {
  Flow& flow = flows_[slot];
  STEPCAST_ASSERT(flow.is_live, "a flow is removed once");
  set_bottleneck(flow, kNoLink);
  for (const Hop& hop : flow.hops) {
    Link& link = links_[hop.link];
    const Member last = link.members.back();
    link.members[hop.place] = last;
    flows_[last.flow].hops[last.hop].place = hop.place;
    link.members.pop_back();
    // Freed room matters only to flows that this link limits.
    if (link.bottleneck_of > 0 && !link.is_dirty) {
      link.is_dirty = true;
      dirty_links_.push_back(hop.link);
    }
  }
  flow.is_live = false;
  if (flow.is_new) std::erase(new_flows_, slot);
  flow.is_new = false;
  flow.rate = 0;
  free_flows_.push_back(slot);
}

void MaxMin::set_bottleneck(Flow& flow, LinkId link) {
  if (flow.bottleneck != kNoLink) --links_[flow.bottleneck].bottleneck_of;
  flow.bottleneck = link;
  if (link != kNoLink) ++links_[link].bottleneck_of;
}

void MaxMin::include(FlowSlot slot) {
  Flow& flow = flows_[slot];
  if (flow.member_epoch == epoch_) return;
  flow.member_epoch = epoch_;
  affected_.push_back(slot);
}

void MaxMin::expand(LinkId index) {
  Link& link = links_[index];
  if (link.expanded_epoch == epoch_) return;
  link.expanded_epoch = epoch_;
  for (const Member& member : link.members) include(member.flow);
}

void MaxMin::close_over_bottlenecks() {
  for (; closed_ < affected_.size(); ++closed_) {
    for (const Hop& hop : flows_[affected_[closed_]].hops) {
      Link& link = links_[hop.link];
      if (link.constraint_epoch != epoch_) {
        link.constraint_epoch = epoch_;
        constraints_.push_back(hop.link);
      }
      if (link.bottleneck_of > 0) expand(hop.link);
    }
  }
}

void MaxMin::freeze_flows_of(LinkId index, double share) {
  bool froze = false;
  for (const Member& member : links_[index].members) {
    Flow& flow = flows_[member.flow];
    if (flow.member_epoch != epoch_ || flow.frozen_round == round_) continue;
    flow.frozen_round = round_;
    flow.new_rate = share;
    set_bottleneck(flow, index);
    froze = true;
    for (const Hop& hop : flow.hops) {
      Link& crossed = links_[hop.link];
      crossed.room -= share;
      --crossed.unfrozen;
    }
  }
  if (froze) limiting_.emplace_back(index, share);
}

// Progressive filling: the link with the smallest fair share freezes its flows at that share. Freezing at the smallest
// share never lowers another link's, so the heap holds lower bounds that are renewed when they come up.
void MaxMin::fill() {
  ++round_;
  limiting_.clear();
  heap_.clear();
  for (const LinkId index : constraints_) {
    Link& link = links_[index];
    link.room = link.capacity;
    link.unfrozen = 0;
    for (const Member& member : link.members) {
      const Flow& flow = flows_[member.flow];
      if (flow.member_epoch == epoch_) ++link.unfrozen;
      else link.room -= flow.rate;
    }
    heap_.emplace_back(std::max(0.0, link.room) / link.unfrozen, index);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>{});
  while (!heap_.empty()) {
    const auto [bound, index] = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    Link& link = links_[index];
    if (link.unfrozen == 0) {
      heap_.pop_back();
      continue;
    }
    const double share = std::max(0.0, link.room) / link.unfrozen;
    if (share > bound * (1 + kRelativeNoise)) {
      heap_.back().first = share;
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
      continue;
    }
    heap_.pop_back();
    freeze_flows_of(index, share);
  }
}

// A link that limits a re-filled flow must not carry a faster outside flow.
bool MaxMin::expand_violated() {
  bool found = false;
  for (const auto& [index, share] : limiting_) {
    Link& link = links_[index];
    if (link.expanded_epoch == epoch_) continue;
    for (const Member& member : link.members) {
      const Flow& flow = flows_[member.flow];
      if (flow.member_epoch == epoch_ || flow.rate <= share * (1 + kRelativeNoise)) continue;
      expand(index);
      found = true;
      break;
    }
  }
  return found;
}

void MaxMin::fill_without_sharing() {
  for (const FlowSlot slot : affected_) {
    Flow& flow = flows_[slot];
    flow.new_rate = links_[flow.hops.front().link].capacity;
    for (const Hop& hop : flow.hops) flow.new_rate = std::min(flow.new_rate, links_[hop.link].capacity);
  }
}

std::span<const MaxMin::Change> MaxMin::solve() {
  changes_.clear();
  if (!is_dirty()) return changes_;
  ++epoch_;
  affected_.clear();
  constraints_.clear();
  closed_ = 0;
  for (const LinkId link : dirty_links_) {
    links_[link].is_dirty = false;
    expand(link);
  }
  for (const FlowSlot flow : new_flows_) {
    flows_[flow].is_new = false;
    include(flow);
  }
  dirty_links_.clear();
  new_flows_.clear();
  if (sharing_ == Sharing::none) fill_without_sharing();
  for (int round = 0; sharing_ == Sharing::max_min; ++round) {
    close_over_bottlenecks();
    if (round == kIncrementalRounds) {
      for (std::size_t i = 0; i < affected_.size(); ++i) {
        for (const Hop& hop : flows_[affected_[i]].hops) expand(hop.link);
      }
      close_over_bottlenecks();
    }
    fill();
    if (!expand_violated()) break;
  }
  for (const FlowSlot slot : affected_) {
    Flow& flow = flows_[slot];
    const double moved = flow.new_rate - flow.rate;
    if (moved > -kRelativeNoise * flow.rate && moved < kRelativeNoise * flow.rate) continue;
    if (moved == 0) continue;
    changes_.push_back({slot, flow.rate});
    flow.rate = flow.new_rate;
  }
  return changes_;
}
}  // namespace stepcast
