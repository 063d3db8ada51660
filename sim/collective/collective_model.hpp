#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/profile/collective_profile.hpp"
#include "sim/workload/op.hpp"

namespace stepcast {

enum class Algorithm { automatic, ring, tree, hierarchical, nvls, sharp, direct };
template <>
struct EnumText<Algorithm> {
  static constexpr std::array<std::pair<Algorithm, std::string_view>, 7> table{
      {{Algorithm::automatic, "auto"},
       {Algorithm::ring, "ring"},
       {Algorithm::tree, "tree"},
       {Algorithm::hierarchical, "hierarchical"},
       {Algorithm::nvls, "nvls"},
       {Algorithm::sharp, "sharp"},
       {Algorithm::direct, "direct"}}};
};

/// Geometry of one process group.
struct GroupShape {
  int ranks = 1;
  int nodes = 1;           // distinct nodes its members sit on
  int ranks_per_node = 1;  // largest number of members on one node
  int max_hops = 0;        // switch traversals of its longest edge
};

/// What a collective costs, split so that contention can act on the bytes.
/// Uncontended time = startup + max(intra, edge_bytes / bandwidth of a node's share of its port).
struct CollectiveTerms {
  Algorithm algorithm = Algorithm::ring;
  Seconds startup;  // launches, steps and protocol latency: a plain delay
  Seconds intra;    // serialisation inside a node (scale-up links), closed form from the curve
  double edge_bytes =
      0;  // bytes sent over each inter-node edge by this group, inflated by 1/efficiency
  double payload_edge_bytes = 0;  // the same without inflation: what conservation checks count
  /// How the edges run between the group's nodes.
  enum class Pattern : std::uint8_t {
    none,
    ring,
    all_pairs,
    tree,
    reduction_switch,
    pair
  } pattern = Pattern::none;
  double relative_sigma = 0;  // 1-sigma of log time
  bool is_extrapolated = false;
  std::string nearest_measured;  // "8 GPUs, 8 GiB" when extrapolated
};

struct Setting;
struct Request;
struct Candidate;

/// The collectives of one cluster under one profile.
/// Single-node groups: the measured curve of (collective, ranks), interpolated in log size;
/// unmeasured rank counts by the fitted start-up + bandwidth model. Multi-node groups: NCCL-like
/// choice of algorithm by size, latency per step and size-dependent efficiency of the bottleneck
/// link from the fitted fabric.
class CollectiveModel {
 public:
  CollectiveModel(const CollectiveProfile& profile, const NodeSpec& node, const FabricSpec& fabric,
                  Algorithm forced = Algorithm::automatic);
  CollectiveTerms terms(Collective collective, Bytes buffer, const GroupShape& shape) const;
  /// Closed form: what `terms` takes when nothing contends and `port_share` is the group's part of
  /// a node's port.
  Seconds uncontended_time(Collective collective, Bytes buffer, const GroupShape& shape,
                           BytesPerSecond port_share) const;

 private:
  Candidate best_of(const Setting& setting, const Request& request) const;
  CollectiveProfile profile_;
  NodeSpec node_;
  FabricSpec fabric_;
  Algorithm forced_;
};

/// busbw / algbw of nccl-tests: 2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter,
/// all_to_all; else 1.
double bus_factor(Collective collective, int ranks);
}  // namespace stepcast
