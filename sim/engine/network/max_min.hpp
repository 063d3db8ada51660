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
/// A rate vector is max-min fair exactly when every flow has a *bottleneck*: a full link on which
/// no other flow is faster. `solve` re-fills only flows whose bottleneck is in doubt, with all
/// others held at their rates:
///
///   start     new flows, and the flows limited by a link that was left by a flow or changed its
///   capacity fill      progressive filling of these flows into the room that the others leave
///   check     a flow outside keeps its rate while its bottleneck is still full and carries nobody
///   faster, and while no link
///             limits a re-filled flow below it; those that fail join, and the filling is repeated
///
/// What is left satisfies the condition above for every flow, so it is what filling everything from
/// zero gives.
///
/// A link with a single flow on it (most ports, most of the time) is no more than an upper bound of
/// that flow's rate: a flow's shared hops stand before its private ones, and only the former are
/// visited by a solve. A link that a route names k times carries k times the flow's rate.
class MaxMin {
 public:
  using FlowSlot = std::uint32_t;  // reused after remove
  struct Change {
    FlowSlot flow;
    double old_rate;
  };
  /// none: flows ignore each other and run at the capacity of their narrowest link.
  enum class Sharing { max_min, none };

  explicit MaxMin(Sharing sharing = Sharing::max_min) : sharing_(sharing) {}
  LinkId add_link(double capacity);
  void set_capacity(LinkId link, double capacity);
  /// Rate is 0 until the next solve. `route` is not empty.
  FlowSlot add_flow(std::span<const LinkId> route);
  void remove_flow(FlowSlot flow);
  double rate(FlowSlot flow) const { return flows_[flow].rate; }
  bool is_dirty() const {
    return !dirty_links_.empty() || !changed_links_.empty() || !new_flows_.empty();
  }
  /// Brings all rates up to date; gives the flows whose rate changed, in a reproducible order.
  std::span<const Change> solve();

  template <class Visit>  // visit(FlowSlot), once per time the flow's route names the link
  void for_each_flow_on(LinkId link, Visit visit) const {
    for (const Member& member : members_[link]) visit(member.flow);
  }
  template <class Visit>  // visit(LinkId)
  void for_each_link_of(FlowSlot flow, Visit visit) const {
    for (const Hop& hop : hops_of(flow)) visit(hop.link);
  }

 private:
  static constexpr LinkId kNoLink = ~LinkId{0};
  struct Hop {
    LinkId link;
    std::uint32_t place;
  };  // place in the link's members
  struct Member {
    FlowSlot flow;
    std::uint32_t hop;
  };  // hop in the flow's hops
  struct Link {
    double capacity = 0;
    std::uint32_t bottleneck_of = 0;  // flows that this link limits
    // Scratch of one solve; counts hold when constraint_epoch matches.
    std::uint32_t constraint_epoch = 0;
    std::uint32_t affected = 0, unfrozen = 0;  // hops of re-filled flows on this link
    double base = 0;                           // left by the flows outside
    double room = 0;                           // left by flows outside and frozen ones
    double fastest = 0;                        // re-filled flow
    double share = 0;  // at which it froze flows; infinite when it limits none
    bool is_dirty = false;
  };
  struct Flow {
    double rate = 0, new_rate = 0;
    double bound = 0;  // least capacity of its private links, of which bound_link has it
    LinkId bound_link = kNoLink, bottleneck = kNoLink;
    std::uint32_t shared_hops = 0, hop_count = 0;
    std::uint32_t affected_epoch = 0, frozen_round = 0;
    bool is_live = false, is_new = false;
  };
  using Candidate = std::pair<double, LinkId>;  // fair share when last looked at

  std::span<const Hop> hops_of(FlowSlot flow) const {
    return {&hops_[flow * stride_], flows_[flow].hop_count};
  }
  std::span<const Hop> shared_hops_of(FlowSlot flow) const {
    return {&hops_[flow * stride_], flows_[flow].shared_hops};
  }
  Hop& hop_at(FlowSlot flow, std::uint32_t hop) { return hops_[flow * stride_ + hop]; }
  void widen(std::size_t hops);
  void swap_hops(FlowSlot flow, std::uint32_t a, std::uint32_t b);
  void make_shared(const Member& member);
  void make_private(const Member& member);
  void renew_bound(FlowSlot flow);
  void mark_dirty(LinkId link);
  void set_bottleneck(Flow& flow, LinkId link);

  void include(FlowSlot flow);
  void include_limited_by(LinkId link);
  void include_all_connected();
  void gather_constraints(bool with_limited);
  void fill();
  void freeze(FlowSlot flow, double rate, LinkId bottleneck);
  bool freeze_bounded_flows_of(LinkId link, double share);
  void freeze_flows_of(LinkId link, double share);
  bool include_doubtful();
  void fill_without_sharing();
  void collect(FlowSlot flow);

  Sharing sharing_;
  std::vector<Link> links_;
  std::vector<std::vector<Member>> members_;  // by link
  std::vector<Flow> flows_;
  std::vector<Hop> hops_;   // stride_ per flow
  std::size_t stride_ = 4;  // longest route so far; tx port, up, down, rx port
  std::vector<FlowSlot> free_flows_;
  std::vector<LinkId> dirty_links_;    // left by a flow while they limit others
  std::vector<LinkId> changed_links_;  // in capacity
  std::vector<FlowSlot> new_flows_;
  std::uint32_t epoch_ = 0, round_ = 0;
  std::vector<FlowSlot>
      affected_;  // flows being re-filled; up to gathered_ their links are constraints
  std::size_t gathered_ = 0, frozen_ = 0;
  std::vector<LinkId> constraints_;
  std::vector<Candidate> heap_;
  std::vector<Change> changes_;
};
}  // namespace stepcast
