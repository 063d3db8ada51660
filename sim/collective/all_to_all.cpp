#include <algorithm>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/protocols.hpp"
#include "sim/collective/single_node_curve.hpp"

/// All-to-all: every rank sends S/n to every rank, straight to it; send_recv: one rank sends S to
/// one other. Bytes : the r ranks of a node send r S (n - r)/n to other nodes, shared among N - 1
/// pairs of nodes. Steps : all sends are posted at once, but each peer on another node costs the
/// proxy thread about one LL step (Slingshot:
///         25 us above the base for 4 such peers, 110-140 us for 28).
namespace stepcast {
CollectiveTerms all_to_all_terms(const Setting& setting, const Request& request) {
  const GroupShape& shape = request.shape;
  const double n = shape.ranks, r = shape.ranks_per_node;
  CollectiveTerms terms;
  terms.algorithm = Algorithm::direct;
  terms.pattern = CollectiveTerms::Pattern::all_pairs;
  terms.startup = setting.fit.base_latency + setting.fit.ring_step_latency * (n - r) +
                  extra_hops(setting, request);
  terms.payload_edge_bytes = r * request.buffer * (n - r) / n;
  terms.edge_bytes = terms.payload_edge_bytes / setting.fit.all_to_all_efficiency;
  // Inside the node each rank sends (r - 1)/n of its buffer; at equal wire bytes on the curve of r
  // ranks.
  if (r > 1) {
    const double buffer = request.buffer * r / n;
    const SingleNodeTime inside =
        single_node_time(setting.profile, setting.node, Collective::all_to_all,
                         Bytes(static_cast<std::int64_t>(buffer)), shape.ranks_per_node);
    terms.intra = std::max(Seconds(0), inside.total - inside.startup);
  }
  return terms;
}

CollectiveTerms send_recv_terms(const Setting& setting, const Request& request) {
  CollectiveTerms best;
  double best_time = 0;
  // Small messages go as LL, larger ones as Simple; the switch is where they meet.
  for (const Protocol* protocol : {&kProtocols[0], &kProtocols[2]}) {
    CollectiveTerms terms;
    terms.algorithm = Algorithm::direct;
    terms.pattern = CollectiveTerms::Pattern::pair;
    terms.startup = setting.fit.base_latency + inter_step(setting.fit, *protocol, false) +
                    extra_hops(setting, request);
    terms.payload_edge_bytes = request.buffer;
    terms.edge_bytes = request.buffer / (setting.fit.pair_efficiency *
                                         carried(setting.fit, *protocol, false, request.buffer));
    const double time = terms.startup.value + terms.edge_bytes / setting.share.value;
    if (best_time == 0 || time < best_time) {
      best = terms;
      best_time = time;
    }
  }
  return best;
}
}  // namespace stepcast
