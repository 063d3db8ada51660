#pragma once
#include <string>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/profile/collective_profile.hpp"

/// Collectives among GPUs of one node: measured curves of time against size, read between sizes and
/// between group sizes.
namespace stepcast {

struct SingleNodeTime {
  Seconds total;
  Seconds startup;  // what a tiny message takes; `total - startup` is serialisation on the scale-up
                    // links
  bool is_extrapolated = false;
  std::string nearest_measured;
};

/// Share of the buffer that one rank sends over its link: busbw = share x buffer / time.
/// (n-1)/n for all_gather, reduce_scatter, all_to_all; twice that for all_reduce; 1 for broadcast
/// and send_recv.
double wire_share(Collective collective, int ranks);

/// Time at `size` on one curve. Between points by monotone cubic in log-log; below the first point
/// the start-up is held, above the last the bandwidth of the last two points continues.
Seconds time_on_curve(const CollectiveCurve& curve, double size);

/// Model: a group size that was measured is its curve. Otherwise, from the measured neighbours at
/// equal bytes on the wire w:
///   T(n, w) = alpha(n) + g(n, w)      alpha = time of the smallest message, g = the rest
/// alpha is linear in n (one ring step per rank), g moves from the 2-rank to the larger ring as
/// 1/n^2, because a pair has fewer links to spread channels over (measured on 4 against 2 and 8
/// H100: 0.8 of the way). Where the larger group reduces in the switch and the asked one does not,
/// its ring is rebuilt from all-gather and reduce-scatter, which never do. Where a curve reduced in
/// the switch and the node cannot, its ring is rebuilt likewise. On scale-up links of another rate
/// than those of the curves ("curves_gpu_link_GBps") the serialised part is scaled by the ratio;
/// both are flagged. Nothing measured: ring of the datasheet link, flagged.
SingleNodeTime single_node_time(const CollectiveProfile& profile, const NodeSpec& node,
                                Collective collective, Bytes buffer, int ranks);

/// All-reduce with a ring forced, on nodes whose switch would reduce it otherwise: rebuilt from
/// all-gather and reduce-scatter of the same group. What a fused kernel gains shows on 2 ranks,
/// which always use a ring, and fades as its (2/n)-th power. Elsewhere the usual time.
SingleNodeTime ring_all_reduce_time(const CollectiveProfile& profile, const NodeSpec& node,
                                    Bytes buffer, int ranks);
}  // namespace stepcast
