#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/io/json_fwd.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/workload/op.hpp"

namespace stepcast {

/// Time of one collective against size on one node, as measured or fitted. Sizes rise strictly.
struct CollectiveCurve {
  Collective collective = Collective::all_reduce;
  int ranks = 2;
  std::vector<std::pair<Bytes, Seconds>> points;
  std::string source;
};

/// Fitted behaviour of one transport between nodes. Ring and tree step latencies are those of
/// NCCL's low-latency protocol (LL), LL128 follows by a fixed ratio (sim/collective/protocols.hpp);
/// Simple goes through the host's proxy thread and, on some networks, a rendezvous, so it has its
/// own.
struct FabricFit {
  std::string transport;               // "infiniband", "efa" ...
  Seconds base_latency;                // of a multi-node collective, beside the steps
  Seconds ring_step_latency;           // per ring step that crosses nodes
  Seconds tree_step_latency;           // per tree level
  Seconds simple_step_latency{14e-6};  // per step or level in the Simple protocol
  double ll_efficiency = 1;  // of what LL and LL128 could carry at line rate: proxies bound small
                             // messages on some networks
  double ll_half_loss =
      3e7;  // bytes over an edge at which half of that loss is gone: long pipelines fill the NIC
  bool two_node_tree = false;  // two nodes use trees for large messages too (each link then carries
                               // S, a ring 2(n-1)/n S)
  bool ll128 =
      true;  // LL128 is used across nodes (NCCL: only where the NIC keeps 128-byte stores whole)
  double large_efficiency = 0.9;  // of the port's line rate at large sizes
  Bytes half_efficiency_size;     // bytes per edge at which half of it is reached
  double all_to_all_efficiency = 0.7;
  double pair_efficiency = 0.8;  // of one NIC's line rate, one sender to one receiver
  double small_sigma = 0.25,
         large_sigma =
             0.15;  // 1-sigma of log time under and from 1 MiB, from the fit's own residuals
  std::string source;
};

struct CollectiveProfile {
  std::vector<CollectiveCurve> curves;
  std::vector<FabricFit> fabrics;
  /// More fitted parameters by name (unit in the name), each documented in
  /// scenarios/profiles/README.md.
  std::map<std::string, double> parameters;
};
CollectiveProfile read_collective_profile(ObjectReader reader);
Json json_of(const CollectiveProfile& profile);
}  // namespace stepcast
