#include "sim/collective/algorithms.hpp"
#include "sim/collective/protocols.hpp"
#include "sim/collective/single_node_curve.hpp"

/// Reduce-scatter inside each node, rings over nodes (one per local rank, S/r each), all-gather
/// inside: frameworks do it above NCCL (Horovod hierarchical, 2D all-reduce), so it runs only when
/// asked for. Bytes : the r rings of a node together send 2(N-1)/N S. Phases: one after the other;
/// they are not pipelined. Source: Jia et al., "Highly scalable deep learning training system with
/// mixed-precision", 2018.
namespace stepcast {
std::vector<Candidate> hierarchical_candidates(const Setting& setting, const Request& request) {
  if (request.collective != Collective::all_reduce) return {};
  const int inside_ranks = request.shape.ranks_per_node;
  const auto inside = [&](Collective collective) {
    return inside_ranks < 2
               ? SingleNodeTime{}
               : single_node_time(setting.profile, setting.node, collective,
                                  Bytes(static_cast<std::int64_t>(request.buffer)), inside_ranks);
  };
  const SingleNodeTime scatter = inside(Collective::reduce_scatter),
                       gather = inside(Collective::all_gather);
  const double between = 2.0 * (request.shape.nodes - 1);
  const double payload = request.buffer * wire_share(Collective::all_reduce, request.shape.nodes) *
                         torus_split(setting.fabric, request.shape.nodes);
  std::vector<Candidate> all;
  for (const Protocol& protocol : kProtocols) {
    if (&protocol == &kProtocols[1] && !setting.fit.ll128) continue;
    Candidate candidate;
    CollectiveTerms& terms = candidate.terms;
    terms.algorithm = Algorithm::hierarchical;
    terms.pattern = CollectiveTerms::Pattern::ring;
    // The phases inside a node do not overlap the rings, so their whole time is a delay.
    terms.payload_edge_bytes = payload;
    terms.edge_bytes =
        inflated(setting.fit, payload, carried(setting.fit, protocol, false, payload),
                 &protocol == &kProtocols[2]);
    const Seconds lap =
        (inter_step(setting.fit, protocol, false) + extra_hops(setting, request)) * between;
    terms.startup = setting.fit.base_latency + scatter.total + gather.total +
                    pipelined_start(setting, lap, between, terms.edge_bytes);
    candidate.believed_s = protocol.ring_inter_us * 1e-6 * between +
                           payload / (setting.share.value * protocol.ring_bandwidth);
    all.push_back(candidate);
  }
  return all;
}
}  // namespace stepcast
