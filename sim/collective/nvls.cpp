#include <cmath>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/protocols.hpp"
#include "sim/collective/single_node_curve.hpp"

/// NVLS tree: the switch of each node reduces and multicasts, trees over nodes carry the reduced
/// shards, one per rail. Bytes : as the tree, 2 S per node (S with two nodes), spread over the
/// node's NICs. Steps : up and down the tree of nodes; inside, one all-reduce's start-up. Simple
/// protocol only. Source: NCCL 2.18 release notes (NVLSTree); nodes with in-switch reduction and
/// more than one rank.
namespace stepcast {
std::vector<Candidate> nvls_candidates(const Setting& setting, const Request& request) {
  if (request.collective != Collective::all_reduce || !setting.node.in_switch_reduction ||
      request.shape.ranks_per_node < 2)
    return {};
  const Protocol& simple = kProtocols[2];
  const double between = 2.0 * std::ceil(std::log2(static_cast<double>(request.shape.nodes)));
  const SingleNodeTime inside = single_node_time(
      setting.profile, setting.node, Collective::all_reduce,
      Bytes(static_cast<std::int64_t>(request.buffer)), request.shape.ranks_per_node);
  Candidate candidate;
  CollectiveTerms& terms = candidate.terms;
  terms.algorithm = Algorithm::nvls;
  terms.pattern = CollectiveTerms::Pattern::tree;
  terms.startup = setting.fit.base_latency + inside.startup +
                  (inter_step(setting.fit, simple, true) + extra_hops(setting, request)) * between;
  terms.payload_edge_bytes = request.buffer * (request.shape.nodes == 2 ? 1 : 2);
  terms.edge_bytes = inflated(setting.fit, terms.payload_edge_bytes, 1.0, true);
  terms.intra = inside.total - inside.startup;
  // NCCL believes 24 us per in-switch step (NVLS latency in its tuner from 2.18 on) and full
  // network rate.
  candidate.believed_s = 24e-6 + simple.tree_inter_us * 1e-6 * between +
                         terms.payload_edge_bytes / setting.share.value;
  return {candidate};
}
}  // namespace stepcast
