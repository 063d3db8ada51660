#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/core/units.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/workload/op.hpp"

/// The hardware as a scenario states it. Rates are datasheet values, one direction; what a machine
/// reaches of them is the profile's business.
namespace stepcast {

struct GpuSpec {
  std::string name;
  std::array<double, 6> peak_flops{};  // dense FLOP/s by Precision; 0 = not supported
  BytesPerSecond memory_bandwidth;
  Bytes memory;
  int compute_units = 0;
  double clock_scale = 1.0;  // what-if: multiplies every compute peak
  double clock_spread = 0;   // between boards of one fleet: relative standard deviation of the
                             // clocks that they hold under load (power and silicon differ)
  FlopsPerSecond peak(Precision p) const {
    return FlopsPerSecond(peak_flops[static_cast<std::size_t>(p)] * clock_scale);
  }
};

enum class IntraTopology { single, nvswitch, nvlink_mesh, cube_mesh, pcie, xgmi };
template <>
struct EnumText<IntraTopology> {
  static constexpr std::array<std::pair<IntraTopology, std::string_view>, 6> table{
      {{IntraTopology::single, "single"},
       {IntraTopology::nvswitch, "nvswitch"},
       {IntraTopology::nvlink_mesh, "nvlink-mesh"},
       {IntraTopology::cube_mesh, "cube-mesh"},
       {IntraTopology::pcie, "pcie"},
       {IntraTopology::xgmi, "xgmi"}}};
};

/// A "node" is one scale-up domain: the GPUs that reach each other without the network (an NVL72
/// rack is one node).
struct NodeSpec {
  GpuSpec gpu;
  int gpus = 8;
  IntraTopology intra = IntraTopology::nvswitch;
  BytesPerSecond gpu_link;           // scale-up, per GPU, one direction
  bool in_switch_reduction = false;  // NVLink SHARP
  int nics = 8;
  BytesPerSecond nic_bandwidth;   // per NIC, one direction
  BytesPerSecond host_to_device;  // per GPU
  double usd_per_hour = 0;        // per node; 0 = unknown
};

enum class FabricKind { none, single_switch, fat_tree, rail_optimized, dragonfly, torus };
template <>
struct EnumText<FabricKind> {
  static constexpr std::array<std::pair<FabricKind, std::string_view>, 6> table{
      {{FabricKind::none, "none"},
       {FabricKind::single_switch, "single-switch"},
       {FabricKind::fat_tree, "fat-tree"},
       {FabricKind::rail_optimized, "rail-optimized"},
       {FabricKind::dragonfly, "dragonfly"},
       {FabricKind::torus, "torus"}}};
};
enum class Routing { adaptive, hashed };
template <>
struct EnumText<Routing> {
  static constexpr std::array<std::pair<Routing, std::string_view>, 2> table{
      {{Routing::adaptive, "adaptive"}, {Routing::hashed, "hashed"}}};
};
struct FabricSpec {
  FabricKind kind = FabricKind::rail_optimized;
  std::string transport =
      "infiniband";  // infiniband, roce, efa, slingshot, omnipath, tcp, ici: names the fitted curve
  int nodes_per_leaf = 32;      // nodes (rail-optimised: per scalable unit) under one leaf
  int leaves_per_pod = 0;       // 0: two levels; else a third level above pods of so many leaves
  double oversubscription = 1;  // leaf downlinks : uplinks
  double core_oversubscription = 1;  // pod downlinks : uplinks
  int uplinks_per_leaf =
      0;  // hashed routing: parallel paths; 0 = nodes_per_leaf / oversubscription
  std::vector<int> torus_shape;  // nodes per dimension
  Seconds hop_latency;           // one switch traversal with its cables
  Routing routing = Routing::adaptive;
  bool in_network_reduction = false;  // SHARP
};

enum class PlacementKind { linear, random, strided };
template <>
struct EnumText<PlacementKind> {
  static constexpr std::array<std::pair<PlacementKind, std::string_view>, 3> table{
      {{PlacementKind::linear, "linear"},
       {PlacementKind::random, "random"},
       {PlacementKind::strided, "strided"}}};
};
struct NodeGroup {
  NodeSpec spec;
  int count = 0;
};
/// A capacity change at a moment of the step (what-if: a flapping or degraded link).
struct LinkEvent {
  int node = 0;
  double at_s = 0, capacity_factor = 1;
};

struct ClusterSpec {
  std::string name;
  std::vector<NodeGroup>
      groups;  // heterogeneous clusters list several; nodes are numbered through them
  FabricSpec fabric;
  PlacementKind placement = PlacementKind::linear;
  std::vector<LinkEvent> link_events;
  int nodes() const;
  const NodeSpec& node(int index) const;
  /// True when every node has the same spec.
  bool is_uniform() const { return groups.size() == 1; }
  int gpus() const;
};

/// Reads "cluster" after its preset was merged in; `nodes` counts nodes of the (single) group.
ClusterSpec read_cluster(ObjectReader reader);

/// Physical node of each logical node (0 .. n-1), by the placement policy; a permutation.
std::vector<int> placed_nodes(const ClusterSpec& cluster, std::uint64_t seed);
}  // namespace stepcast
