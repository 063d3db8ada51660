// Which flows are on which links: bookkeeping of MaxMin beside the filling.
#include <algorithm>
#include <limits>

#include "sim/core/assert.hpp"
#include "sim/engine/network/max_min.hpp"

namespace stepcast {

LinkId MaxMin::add_link(double capacity) {
  links_.emplace_back().capacity = capacity;
  members_.emplace_back();
  return static_cast<LinkId>(links_.size() - 1);
}

void MaxMin::mark_dirty(LinkId link) {
  if (links_[link].is_dirty) return;
  links_[link].is_dirty = true;
  dirty_links_.push_back(link);
}

void MaxMin::set_capacity(LinkId link, double capacity) {
  if (links_[link].capacity == capacity) return;
  links_[link].capacity = capacity;
  if (members_[link].empty()) return;
  if (members_[link].size() == 1) renew_bound(members_[link].front().flow);
  changed_links_.push_back(link);
}

// Routes longer than any before: every flow's hops move to wider rows.
void MaxMin::widen(std::size_t hops) {
  std::vector<Hop> wider(flows_.size() * hops);
  for (std::size_t flow = 0; flow < flows_.size(); ++flow)
    std::copy_n(hops_.begin() + static_cast<std::ptrdiff_t>(flow * stride_), stride_,
                wider.begin() + static_cast<std::ptrdiff_t>(flow * hops));
  hops_ = std::move(wider);
  stride_ = hops;
}

MaxMin::FlowSlot MaxMin::add_flow(std::span<const LinkId> route) {
  STEPCAST_ASSERT(!route.empty(), "the network answers flows without links by itself");
  if (route.size() > stride_) widen(route.size());
  FlowSlot slot;
  if (free_flows_.empty()) {
    slot = static_cast<FlowSlot>(flows_.size());
    flows_.emplace_back();
    hops_.resize(flows_.size() * stride_);
  } else {
    slot = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& flow = flows_[slot];
  flow.rate = 0;
  flow.bottleneck = kNoLink;
  flow.shared_hops = flow.hop_count = 0;
  flow.is_live = flow.is_new = true;
  for (const LinkId link : route) {
    auto& members = members_[link];
    const std::uint32_t hop = flow.hop_count++;
    hop_at(slot, hop) = {link, static_cast<std::uint32_t>(members.size())};
    members.push_back({slot, hop});
    if (members.size() == 2) make_shared(members.front());
    if (members.size() >= 2) make_shared(members.back());
  }
  renew_bound(slot);
  new_flows_.push_back(slot);
  return slot;
}

void MaxMin::remove_flow(FlowSlot slot) {
  Flow& flow = flows_[slot];
  STEPCAST_ASSERT(flow.is_live, "a flow is removed once");
  set_bottleneck(flow, kNoLink);
  for (std::uint32_t hop = 0; hop < flow.hop_count; ++hop) {
    const auto [index, place] = hop_at(slot, hop);
    auto& members = members_[index];
    const Member last = members.back();
    members[place] = last;
    hop_at(last.flow, last.hop).place = place;
    members.pop_back();
    if (members.size() == 1 && members.front().flow != slot) make_private(members.front());
    // Freed room matters only to flows that this link limits.
    if (links_[index].bottleneck_of > 0) mark_dirty(index);
  }
  if (flow.is_new) std::erase(new_flows_, slot);
  flow.is_live = flow.is_new = false;
  flow.rate = 0;
  flow.hop_count = flow.shared_hops = 0;
  free_flows_.push_back(slot);
}

void MaxMin::swap_hops(FlowSlot flow, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  std::swap(hop_at(flow, a), hop_at(flow, b));
  for (const std::uint32_t hop : {a, b})
    members_[hop_at(flow, hop).link][hop_at(flow, hop).place].hop = hop;
}

void MaxMin::make_shared(const Member& member) {
  const FlowSlot slot = member.flow;
  swap_hops(slot, member.hop, flows_[slot].shared_hops++);
  renew_bound(slot);
}

void MaxMin::make_private(const Member& member) {
  const FlowSlot slot = member.flow;
  swap_hops(slot, member.hop, --flows_[slot].shared_hops);
  renew_bound(slot);
}

void MaxMin::renew_bound(FlowSlot slot) {
  Flow& flow = flows_[slot];
  flow.bound = std::numeric_limits<double>::infinity();
  flow.bound_link = kNoLink;
  for (const Hop& hop : hops_of(slot).subspan(flow.shared_hops)) {
    if (links_[hop.link].capacity >= flow.bound) continue;
    flow.bound = links_[hop.link].capacity;
    flow.bound_link = hop.link;
  }
}
}  // namespace stepcast
