#include "sim/collective/algorithms.hpp"
#include "sim/collective/protocols.hpp"
#include "sim/collective/single_node_curve.hpp"

/// Reduction in the network's switches (SHARP): each node sends its buffer once and receives the
/// result once. Bytes : S out and S in per node, whatever the number of nodes. Steps : one way up
/// the switch tree and back, without hosts in between. Source: Graham et al., "Scalable
/// Hierarchical Aggregation and Reduction Protocol", COMHPC 2016; NCCL's CollNet.
namespace stepcast {
std::vector<Candidate> sharp_candidates(const Setting& setting, const Request& request) {
  if (request.collective != Collective::all_reduce || !setting.fabric.in_network_reduction)
    return {};
  SingleNodeTime inside;
  if (request.shape.ranks_per_node > 1)
    inside = single_node_time(setting.profile, setting.node, Collective::all_reduce,
                              Bytes(static_cast<std::int64_t>(request.buffer)),
                              request.shape.ranks_per_node);
  Candidate candidate;
  CollectiveTerms& terms = candidate.terms;
  terms.algorithm = Algorithm::sharp;
  terms.pattern = CollectiveTerms::Pattern::reduction_switch;
  terms.startup = setting.fit.base_latency + inside.startup + setting.fit.simple_step_latency +
                  extra_hops(setting, request) * 2.0;
  terms.payload_edge_bytes = request.buffer;
  // 64 H100 on NDR with SHARP: 195 GB/s of buffer through a node's 400 GB/s (384 GB/s busbw,
  // coreweave/nccl-tests@0120901a), so half the line rate besides the fabric's own efficiency.
  constexpr double kSharpShare = 0.5;
  terms.edge_bytes = inflated(setting.fit, request.buffer, kSharpShare, true);
  terms.intra = inside.total - inside.startup;
  candidate.believed_s =
      10.7e-6 + request.buffer / setting.share.value;  // CollNet Simple in NCCL's tuner
  return {candidate};
}
}  // namespace stepcast
