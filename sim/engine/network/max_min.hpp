#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace stepcast {
/// Max-min fair rates of flows over shared links, kept up to date as flows come and go.
///
/// A rate vector is max-min fair exactly when every flow has a *bottleneck*: a full link on which no other flow is faster.
/// So a change can only matter through links that are somebody's bottleneck, and `solve` re-fills just the flows that hang
/// together through such links. Links of those flows that were nobody's bottleneck stay constraints with the outside
/// flows held at their rates; when one of them turns out to limit a flow below an outside flow's rate, the outside
/// flows join and the filling is repeated. The result is the same as filling everything from zero.
///
/// A link that a route names k times carries k times the flow's rate.
class MaxMin {
 public:
  using FlowSlot = std::uint32_t;  // reused after remove
  struct Change { FlowSlot flow; double old_rate; };
  /// none: flows ignore each other and run at the capacity of their narrowest link.
  enum class Sharing { max_min, none };

  explicit MaxMin(Sharing sharing = Sharing::max_min) : sharing_(sharing) {}

  LinkId add_link(double capacity);
  void set_capacity(LinkId link, double capacity);
  double capacity(LinkId link) const { return links_[link].capacity; }
  std::size_t link_count() const { return links_.size(); }
  /// Rate is 0 until the next solve. `route` is not empty.
  FlowSlot add_flow(std::span<const LinkId> route);
  void remove_flow(FlowSlot flow);
  double rate(FlowSlot flow) const { return flows_[flow].rate; }
  bool is_dirty() const { return !dirty_links_.empty() || !new_flows_.empty(); }
  /// Brings all rates up to date; gives the flows whose rate changed, in a reproducible order.
  std::span<const Change> solve();

  template <class Visit>  // visit(FlowSlot), once per time the flow's route names the link
  void for_each_flow_on(LinkId link, Visit visit) const {
    for (const Member& member : links_[link].members) visit(member.flow);
  }
  template <class Visit>  // visit(LinkId)
  void for_each_link_of(FlowSlot flow, Visit visit) const {
    for (const Hop& hop : flows_[flow].hops) visit(hop.link);
  }

 private:
  static constexpr LinkId kNoLink = ~LinkId{0};
  struct Hop { LinkId link; std::uint32_t place; };          // place in the link's members
  struct Member { FlowSlot flow; std::uint32_t hop; };       // hop in the flow's hops
  struct Link {
    double capacity = 0;
    std::vector<Member> members;
    std::uint32_t bottleneck_of = 0;  // flows that this link limits
    bool is_dirty = false;
    // Scratch of one solve, valid when the epoch matches.
    std::uint64_t constraint_epoch = 0, expanded_epoch = 0;
    double room = 0;
    std::uint32_t unfrozen = 0;
  };
  struct Flow {
    std::vector<Hop> hops;
    double rate = 0, new_rate = 0;
    LinkId bottleneck = kNoLink;
    std::uint64_t member_epoch = 0, frozen_round = 0;
    bool is_live = false, is_new = false;
  };
  using Candidate = std::pair<double, LinkId>;  // fair share when last looked at

  void set_bottleneck(Flow& flow, LinkId link);
  void include(FlowSlot flow);
  void expand(LinkId link);
  void close_over_bottlenecks();
  void fill();
  void freeze_flows_of(LinkId link, double share);
  bool expand_violated();
  void fill_without_sharing();

  Sharing sharing_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<FlowSlot> free_flows_;
  std::vector<LinkId> dirty_links_;
  std::vector<FlowSlot> new_flows_;
  std::uint64_t epoch_ = 0, round_ = 0;
  std::vector<FlowSlot> affected_;     // flows being re-filled; closed up to closed_
  std::size_t closed_ = 0;
  std::vector<LinkId> constraints_;
  std::vector<std::pair<LinkId, double>> limiting_;  // links that froze a flow in this round, with their share
  std::vector<Candidate> heap_;
  std::vector<Change> changes_;
};
}  // namespace stepcast
