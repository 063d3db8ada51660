#include "sim/engine/network/max_min.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace {
// Two shares that differ by less are the same share computed along two ways: sums over at most ~1e4
// flows of doubles (2^-53 each) stay below it. Rates that move by less are left alone, so that
// flows which should end together do.
constexpr double kRelativeNoise = 1e-12;
// Most changes move few flows and are settled in a round or two. Those that are not spread far:
// then whatever hangs together through limiting links joins at once, and at last everything
// connected.
constexpr int kSmallRounds = 2, kRounds = 8;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
}  // namespace

void MaxMin::set_bottleneck(Flow& flow, LinkId link) {
  if (flow.bottleneck == link) return;
  if (flow.bottleneck != kNoLink) --links_[flow.bottleneck].bottleneck_of;
  flow.bottleneck = link;
  if (link != kNoLink) ++links_[link].bottleneck_of;
}

void MaxMin::include(FlowSlot slot) {
  Flow& flow = flows_[slot];
  if (flow.affected_epoch == epoch_) return;
  flow.affected_epoch = epoch_;
  affected_.push_back(slot);
}

void MaxMin::include_limited_by(LinkId link) {
  if (links_[link].bottleneck_of == 0) return;
  for (const Member& member : members_[link])
    if (flows_[member.flow].bottleneck == link) include(member.flow);
}

void MaxMin::include_all_connected() {
  for (std::size_t i = 0; i < affected_.size(); ++i)
    for (const Hop& hop : shared_hops_of(affected_[i]))
      for (const Member& member : members_[hop.link]) include(member.flow);
}

// With `with_limited`, also takes in everybody limited by those links, and so on.
void MaxMin::gather_constraints(bool with_limited) {
  for (; gathered_ < affected_.size(); ++gathered_) {
    for (const Hop& hop : shared_hops_of(affected_[gathered_])) {
      Link& link = links_[hop.link];
      if (link.constraint_epoch != epoch_) {
        link.constraint_epoch = epoch_;
        link.affected = 0;
        link.base = link.capacity;
        for (const Member& member : members_[hop.link]) link.base -= flows_[member.flow].rate;
        constraints_.push_back(hop.link);
        if (with_limited) include_limited_by(hop.link);
      }
      ++link.affected;
      link.base += flows_[affected_[gathered_]].rate;
    }
  }
}

void MaxMin::freeze(FlowSlot slot, double rate, LinkId bottleneck) {
  Flow& flow = flows_[slot];
  flow.frozen_round = round_;
  flow.new_rate = rate;
  ++frozen_;
  set_bottleneck(flow, bottleneck);
  for (const Hop& hop : shared_hops_of(slot)) {
    Link& crossed = links_[hop.link];
    crossed.room -= rate;
    crossed.fastest = std::max(crossed.fastest, rate);
    --crossed.unfrozen;
  }
}

// No link offers less than `share`, so a flow bounded below it runs at its bound.
bool MaxMin::freeze_bounded_flows_of(LinkId index, double share) {
  bool found = false;
  for (const Member& member : members_[index]) {
    const Flow& flow = flows_[member.flow];
    if (flow.bound >= share || flow.affected_epoch != epoch_ || flow.frozen_round == round_)
      continue;
    freeze(member.flow, flow.bound, flow.bound_link);
    found = true;
  }
  return found;
}

void MaxMin::freeze_flows_of(LinkId index, double share) {
  links_[index].share = share;
  for (const Member& member : members_[index]) {
    const Flow& flow = flows_[member.flow];
    if (flow.affected_epoch == epoch_ && flow.frozen_round != round_)
      freeze(member.flow, share, index);
  }
}

// Progressive filling: the link with the smallest fair share freezes its flows at that share.
// Freezing at the smallest share never lowers another link's, so the heap holds lower bounds that
// are renewed when they come up.
void MaxMin::fill() {
  ++round_;
  frozen_ = 0;
  heap_.clear();
  for (const LinkId index : constraints_) {
    Link& link = links_[index];
    link.room = link.affected < members_[index].size() ? link.base : link.capacity;
    link.unfrozen = link.affected;
    link.fastest = 0;
    link.share = kUnbounded;
    heap_.emplace_back(std::max(0.0, link.room) / link.unfrozen, index);
  }
  for (const FlowSlot slot : affected_)
    if (flows_[slot].shared_hops == 0) freeze(slot, flows_[slot].bound, flows_[slot].bound_link);
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>{});
  while (frozen_ < affected_.size()) {
    const auto [known, index] = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const Link& link = links_[index];
    const auto share = [&link] { return std::max(0.0, link.room) / link.unfrozen; };
    const bool is_current = link.unfrozen > 0 && share() <= known * (1 + kRelativeNoise);
    if (is_current && !freeze_bounded_flows_of(index, share())) {
      heap_.pop_back();
      freeze_flows_of(index, share());
    } else if (link.unfrozen > 0) {
      heap_.back().first = share();
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
    } else {
      heap_.pop_back();
    }
  }
}

bool MaxMin::include_doubtful() {
  const std::size_t before = affected_.size();
  for (const LinkId index : constraints_) {
    const Link& link = links_[index];
    if (link.affected == members_[index].size()) continue;
    const bool has_room = link.room > kRelativeNoise * link.capacity;
    for (const Member& member : members_[index]) {
      const Flow& flow = flows_[member.flow];
      if (flow.affected_epoch == epoch_) continue;
      const bool has_lost_bottleneck =
          flow.bottleneck == index && (has_room || link.fastest > flow.rate * (1 + kRelativeNoise));
      if (has_lost_bottleneck || flow.rate > link.share * (1 + kRelativeNoise))
        include(member.flow);
    }
  }
  return affected_.size() > before;
}

void MaxMin::fill_without_sharing() {
  for (const FlowSlot slot : affected_) {
    Flow& flow = flows_[slot];
    flow.new_rate = kUnbounded;
    for (const Hop& hop : hops_of(slot))
      flow.new_rate = std::min(flow.new_rate, links_[hop.link].capacity);
  }
}

void MaxMin::collect(FlowSlot slot) {
  Flow& flow = flows_[slot];
  const double moved = flow.new_rate - flow.rate, noise = kRelativeNoise * flow.rate;
  if (moved == 0 || (moved > -noise && moved < noise)) return;
  changes_.push_back({slot, flow.rate});
  flow.rate = flow.new_rate;
}

std::span<const MaxMin::Change> MaxMin::solve() {
  changes_.clear();
  if (!is_dirty()) return changes_;
  ++epoch_;
  affected_.clear();
  constraints_.clear();
  gathered_ = 0;
  for (const FlowSlot flow : new_flows_) {
    flows_[flow].is_new = false;
    include(flow);
    for (const Hop& hop : shared_hops_of(flow)) include_limited_by(hop.link);
  }
  for (const LinkId link : dirty_links_) {
    links_[link].is_dirty = false;
    include_limited_by(link);
  }
  for (const LinkId link : changed_links_)
    for (const Member& member : members_[link]) include(member.flow);
  new_flows_.clear();
  dirty_links_.clear();
  changed_links_.clear();
  if (sharing_ == Sharing::none) {
    fill_without_sharing();
  } else {
    for (int round = 0; round == 0 || include_doubtful(); ++round) {
      if (round == kRounds) include_all_connected();
      gather_constraints(round >= kSmallRounds);
      fill();
    }
  }
  for (const FlowSlot slot : affected_) collect(slot);
  return changes_;
}
}  // namespace stepcast
