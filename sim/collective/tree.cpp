#include <cmath>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/protocols.hpp"

/// Double binary tree over nodes, a chain inside each node; all_reduce only, as in NCCL.
///
/// Bytes : two trees carry S/2 each; a node is inner in one and leaf in the other, so it sends S/2
/// up as leaf and S/2 up plus
///         2 x S/2 down as inner node: 2 S. With two nodes each is the root of one tree and sends
///         S.
/// Steps : up and down again: 2 (r - 1) inside, 2 ceil(log2 N) between nodes.
/// Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
/// scan", 2009.
namespace stepcast {
std::vector<Candidate> tree_candidates(const Setting& setting, const Request& request) {
  if (request.collective != Collective::all_reduce) return {};
  const double inside = 2.0 * (request.shape.ranks_per_node - 1);
  const double between = 2.0 * std::ceil(std::log2(static_cast<double>(request.shape.nodes)));
  const double payload = request.buffer * (request.shape.nodes == 2 ? 1 : 2);
  std::vector<Candidate> all;
  for (const Protocol& protocol : kProtocols) {
    const bool is_simple = &protocol == &kProtocols[2];
    if (&protocol == &kProtocols[1] && !setting.fit.ll128) continue;
    Candidate candidate;
    CollectiveTerms& terms = candidate.terms;
    terms.algorithm = Algorithm::tree;
    terms.pattern = CollectiveTerms::Pattern::tree;
    terms.startup =
        setting.fit.base_latency + Seconds(protocol.tree_intra_us * 1e-6) * inside +
        (inter_step(setting.fit, protocol, true) + extra_hops(setting, request)) * between;
    terms.payload_edge_bytes = payload;
    terms.edge_bytes =
        inflated(setting.fit, payload, carried(setting.fit, protocol, true, payload), is_simple);
    // The chain inside a node passes S up and S down, one direction of a link each.
    terms.intra = intra_ring_time(setting, request.shape.ranks_per_node, 2 * request.buffer);
    // NCCL counts 2 S whatever the number of nodes, and so leaves the tree early on two; tuners of
    // some plug-ins know better.
    const double believed_payload = setting.fit.two_node_tree ? payload : 2 * request.buffer;
    candidate.believed_s =
        (protocol.tree_intra_us * inside + protocol.tree_inter_us * between) * 1e-6 +
        believed_payload /
            (setting.share.value * protocol.tree_bandwidth * tree_belief(protocol, request.buffer));
    all.push_back(candidate);
  }
  return all;
}
}  // namespace stepcast
