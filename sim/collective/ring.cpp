#include <algorithm>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/protocols.hpp"
#include "sim/collective/single_node_curve.hpp"

/// A ring over all n ranks, node after node, so that each node has one edge in and one edge out:
///
///   node 0: 0 - 1 - ... - r-1 --> node 1: r - ... --> ... --> back to 0
///
/// Bytes : every edge carries 2(n-1)/n S for all_reduce, (n-1)/n S for all_gather and
/// reduce_scatter, S for broadcast. Steps : 2(n-1), n-1, n; of them 2(N-1), N-1, N-1 cross nodes.
/// The last chunk of a step waits for the slowest edge. Source: Patarasuk and Yuan, "Bandwidth
/// optimal all-reduce algorithms for clusters of workstations", 2009; the split into
///         steps inside and between nodes as NCCL's tuner counts it.
/// Time  : chunks follow each other, so an edge waits for the first lap of a chunk or is busy with
///         all of them, whichever is longer (pipelined_start).
namespace stepcast {
namespace {
struct Steps {
  double inside, between;
};
Steps steps_of(const Request& request) {
  const double n = request.shape.ranks, nodes = request.shape.nodes;
  const double rounds = request.collective == Collective::all_reduce ? 2 : 1;
  const double all = request.collective == Collective::broadcast ? n : rounds * (n - 1);
  const double between = rounds * (nodes - 1);
  return {std::max(0.0, all - between), between};
}
}  // namespace

std::vector<Candidate> ring_candidates(const Setting& setting, const Request& request) {
  const Steps steps = steps_of(request);
  const double payload = request.buffer * wire_share(request.collective, request.shape.ranks) *
                         torus_split(setting.fabric, request.shape.nodes);
  std::vector<Candidate> all;
  for (const Protocol& protocol : kProtocols) {
    const bool is_simple = &protocol == &kProtocols[2];
    if (&protocol == &kProtocols[1] && !setting.fit.ll128) continue;
    Candidate candidate;
    CollectiveTerms& terms = candidate.terms;
    terms.algorithm = Algorithm::ring;
    terms.pattern = CollectiveTerms::Pattern::ring;
    terms.payload_edge_bytes = payload;
    terms.edge_bytes =
        inflated(setting.fit, payload, carried(setting.fit, protocol, false, payload), is_simple);
    const Seconds lap =
        Seconds(protocol.ring_intra_us * 1e-6) * steps.inside +
        (inter_step(setting.fit, protocol, false) + extra_hops(setting, request)) * steps.between;
    terms.startup =
        setting.fit.base_latency + pipelined_start(setting, lap, steps.between, terms.edge_bytes);
    terms.intra = intra_ring_time(setting, request.shape.ranks_per_node, payload);
    // NCCL raises Simple's latency by 1.9 for all-reduces of 64 KiB per 16 ranks and more ("plateau
    // effect of ring").
    const bool plateau = is_simple && request.collective == Collective::all_reduce &&
                         request.buffer >= request.shape.ranks / 16.0 * 65536;
    candidate.believed_s =
        (protocol.ring_intra_us * steps.inside + protocol.ring_inter_us * steps.between) * 1e-6 *
            (plateau ? 1.9 : 1.0) +
        payload / (setting.share.value * protocol.ring_bandwidth);
    all.push_back(candidate);
  }
  return all;
}

Seconds pipelined_start(const Setting& setting, Seconds lap, double steps, double edge_bytes) {
  const Seconds last_step = lap / std::max(1.0, steps),
                busy = Seconds(edge_bytes / setting.share.value);
  return std::max(last_step, lap - busy);
}

Seconds intra_ring_time(const Setting& setting, int ranks_per_node, double wire) {
  if (ranks_per_node <= 1) return Seconds(0);
  const double buffer = wire / wire_share(Collective::all_gather, ranks_per_node);
  const SingleNodeTime time =
      single_node_time(setting.profile, setting.node, Collective::all_gather,
                       Bytes(static_cast<std::int64_t>(buffer)), ranks_per_node);
  // A ring that leaves the node keeps only part of an xGMI mesh's links busy at a time and runs
  // better than a one-node ring: 350 against 319 GB/s (MI325X, 2 nodes against 1, ring forced,
  // hisohara/ai-scripts@7b8b1ec2).
  const double mesh_gain = setting.node.intra == IntraTopology::xgmi ? 319.0 / 350.0 : 1.0;
  return std::max(Seconds(0), time.total - time.startup) * mesh_gain;
}

Seconds extra_hops(const Setting& setting, const Request& request) {
  return setting.fabric.hop_latency * static_cast<double>(std::max(0, request.shape.max_hops - 1));
}

double inflated(const FabricFit& fit, double payload, double bandwidth_share, bool is_chunked) {
  const double ramp = is_chunked ? static_cast<double>(fit.half_efficiency_size.value) : 0.0;
  return (payload + ramp) / (fit.large_efficiency * bandwidth_share);
}

double torus_split(const FabricSpec& fabric, int nodes) {
  if (fabric.kind != FabricKind::torus) return 1;
  std::int64_t product = 1;
  int spanned = 0;
  for (const int size : fabric.torus_shape) {
    if (product >= nodes) break;
    product *= size;
    ++spanned;
  }
  return 1.0 / (2.0 * std::max(1, spanned));
}
}  // namespace stepcast
