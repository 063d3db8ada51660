#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/cluster/gpu_catalogue.hpp"

namespace stepcast {
namespace {
constexpr double kGBps = 1e9;
constexpr double kGbps = 1e9 / 8;

/// One rate that a file may state in bytes or in bits, as vendors do both.
BytesPerSecond read_nic_rate(ObjectReader& reader, BytesPerSecond fallback) {
  if (reader.has("nic_GBps") && reader.has("nic_Gbps"))
    reader.problem("nic_GBps", "and nic_Gbps both state the NIC's rate",
                   "keep one: 400 Gbps is 50 GBps");
  const auto gigabytes = reader.optional_number("nic_GBps", {.min = 0.001, .max = 1e5});
  const auto gigabits = reader.optional_number("nic_Gbps", {.min = 0.001, .max = 1e6});
  if (gigabytes) return BytesPerSecond(*gigabytes * kGBps);
  if (gigabits) return BytesPerSecond(*gigabits * kGbps);
  return fallback;
}

/// The node keys of `reader` over `base`: the cluster's own level states defaults, a group
/// overrides them.
NodeSpec read_node(ObjectReader& reader, NodeSpec base, bool gpu_required) {
  if (gpu_required || reader.has("gpu")) base.gpu = read_gpu(reader, "gpu");
  base.gpus = static_cast<int>(
      reader.integer("gpus_per_node", {.fallback = base.gpus, .min = 1, .max = 1024}));
  base.intra =
      reader.one_of<IntraTopology>("intra", base.gpus == 1 ? IntraTopology::single : base.intra);
  base.gpu_link = BytesPerSecond(
      reader.number("gpu_link_GBps",
                    {.fallback = base.gpu_link.value / kGBps, .min = 0, .max = 1e5}) *
      kGBps);
  base.in_switch_reduction = reader.boolean("in_switch_reduction", base.in_switch_reduction);
  base.nics =
      static_cast<int>(reader.integer("nics", {.fallback = base.nics, .min = 0, .max = 1024}));
  base.nic_bandwidth = read_nic_rate(reader, base.nic_bandwidth);
  base.host_to_device = BytesPerSecond(
      reader.number("host_to_device_GBps",
                    {.fallback = base.host_to_device.value / kGBps, .min = 0.1, .max = 1e4}) *
      kGBps);
  base.usd_per_hour = reader.number("usd_per_hour", {.fallback = base.usd_per_hour, .max = 1e6});
  if (base.gpus > 1 && base.gpu_link.value <= 0)
    reader.problem("gpu_link_GBps",
                   "is missing; a node of several GPUs needs the rate of one GPU's scale-up link",
                   "450 for NVLink4, 900 for NVLink5, 25 for PCIe 4");
  if (base.gpus > 1 && base.intra == IntraTopology::single)
    reader.problem("intra", fmt::format("is single, but a node has {} GPUs", base.gpus),
                   "say what joins them: nvswitch, nvlink-mesh, cube-mesh, pcie or xgmi");
  else if (base.gpus > 1 && base.in_switch_reduction && base.intra != IntraTopology::nvswitch)
    reader.problem("intra",
                   fmt::format("is {}, but in_switch_reduction is true: only an NVSwitch reduces",
                               text_of(base.intra)),
                   "set in_switch_reduction to false");
  return base;
}

/// One switch with its cables. InfiniBand 0.13 us class, Ethernet 0.6-0.9 us class per switch
/// (stas00/ml-engineering@744d01e1 network/README.md), and about 5 ns per metre of 30 m of fibre.
Seconds default_hop_latency(const std::string& transport) {
  if (transport == "infiniband" || transport == "omnipath") return Seconds(0.3e-6);
  if (transport.starts_with("slingshot")) return Seconds(0.5e-6);
  if (transport == "ici") return Seconds(1.0e-6);
  return Seconds(0.9e-6);
}

FabricSpec read_fabric(ObjectReader reader) {
  FabricSpec fabric;
  fabric.kind = reader.one_of<FabricKind>("kind", fabric.kind);
  fabric.transport = reader.text("transport", fabric.transport);
  // Behind a dash: the software that the fitted behaviour belongs to.
  const std::vector<std::string> transports{"infiniband",
                                            "roce",
                                            "efa",
                                            "omnipath",
                                            "tcp",
                                            "tcpx",
                                            "ici",
                                            "slingshot",
                                            "slingshot-nccl2.21",
                                            "slingshot-nccl2.18",
                                            "slingshot-a2a",
                                            "slingshot-a2a-nccl2.18"};
  if (std::find(transports.begin(), transports.end(), fabric.transport) == transports.end())
    reader.unknown_choice("transport", fabric.transport, transports);
  fabric.nodes_per_leaf = static_cast<int>(reader.integer(
      "nodes_per_leaf", {.fallback = fabric.nodes_per_leaf, .min = 1, .max = 1 << 20}));
  fabric.leaves_per_pod = static_cast<int>(reader.integer(
      "leaves_per_pod", {.fallback = fabric.leaves_per_pod, .min = 0, .max = 1 << 20}));
  fabric.oversubscription =
      reader.number("oversubscription", {.fallback = 1.0, .min = 0.01, .max = 1000});
  fabric.core_oversubscription =
      reader.number("core_oversubscription", {.fallback = 1.0, .min = 0.01, .max = 1000});
  fabric.uplinks_per_leaf = static_cast<int>(
      reader.integer("uplinks_per_leaf", {.fallback = 0, .min = 0, .max = 1 << 16}));
  for (const std::int64_t size : reader.integers("torus_shape", {.min = 1, .max = 1 << 20}))
    fabric.torus_shape.push_back(static_cast<int>(size));
  fabric.hop_latency = Seconds(
      reader.number("hop_latency_us",
                    {.fallback = default_hop_latency(fabric.transport).value * 1e6, .max = 1e6}) *
      1e-6);
  fabric.routing = reader.one_of<Routing>("routing", fabric.routing);
  fabric.in_network_reduction = reader.boolean("in_network_reduction", fabric.in_network_reduction);
  if (fabric.core_oversubscription != 1.0 && fabric.leaves_per_pod == 0)
    reader.problem("core_oversubscription", "needs a third level, but leaves_per_pod is 0",
                   "state leaves_per_pod");
  if (fabric.kind == FabricKind::torus && fabric.torus_shape.empty())
    reader.problem("torus_shape", "is missing; a torus needs its nodes per dimension",
                   "for example [4, 4, 8]");
  if (fabric.kind != FabricKind::torus && !fabric.torus_shape.empty())
    reader.problem("torus_shape", fmt::format("is given for a {} fabric", text_of(fabric.kind)),
                   "set \"kind\": \"torus\"");
  reader.done();
  return fabric;
}

void read_link_events(ObjectReader& reader, ClusterSpec& cluster) {
  for (ObjectReader item : reader.objects("link_events")) {
    LinkEvent event;
    event.node =
        static_cast<int>(item.integer("node", {.min = 0, .max = std::max(0, cluster.nodes() - 1)}));
    event.at_s = item.number("at_s", {.fallback = 0, .max = 1e9});
    event.capacity_factor = item.number("capacity_factor", {.min = 1e-6, .max = 1});
    item.done();
    cluster.link_events.push_back(event);
  }
}

/// "[4, 4, 4]": `nodes` as a product of so many near-equal factors, larger ones last.
std::string near_cube(int nodes, std::size_t dimensions) {
  std::string text;
  for (std::size_t left = dimensions; left > 0; --left) {
    const double side = std::pow(nodes, 1.0 / static_cast<double>(left));
    int factor = left == 1 ? nodes : 1;
    for (int f = 1; left > 1 && f <= static_cast<int>(side + 1e-9); ++f)
      if (nodes % f == 0) factor = f;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", factor);
    nodes /= factor;
  }
  return "[" + text + "]";
}

void check_whole(ObjectReader& reader, ClusterSpec& cluster, bool states_nodes) {
  FabricSpec& fabric = cluster.fabric;
  if (fabric.kind == FabricKind::torus && !fabric.torus_shape.empty() && cluster.is_uniform()) {
    std::int64_t product = 1;
    for (const int size : fabric.torus_shape) product *= size;
    if (!states_nodes)
      cluster.groups.front().count = static_cast<int>(product);
    else if (product != cluster.nodes())
      reader.problem(
          "fabric/torus_shape",
          fmt::format("holds {} nodes, but the cluster has {}", product, cluster.nodes()),
          fmt::format("state a shape of {} nodes, for example {}", cluster.nodes(),
                      near_cube(cluster.nodes(), fabric.torus_shape.size())));
  }
  if (cluster.nodes() <= 1) return;
  if (fabric.kind == FabricKind::none)
    reader.problem("fabric/kind",
                   fmt::format("is none, but the cluster has {} nodes", cluster.nodes()),
                   "name the network between them, or use one node");
  // A rate that was given and refused has its own problem already.
  const bool states_rate = reader.has("nic_GBps") || reader.has("nic_Gbps");
  for (const NodeGroup& group : cluster.groups)
    if (group.spec.nics < 1 || (group.spec.nic_bandwidth.value <= 0 && !states_rate)) {
      reader.problem("nics",
                     fmt::format("{} of a stated rate; the {} nodes need NICs to talk",
                                 group.spec.nics < 1 ? "names none" : "are none", cluster.nodes()),
                     "state nics (1 or more) and nic_Gbps");
      break;
    }
}
}  // namespace

ClusterSpec read_cluster(ObjectReader reader) {
  ClusterSpec cluster;
  cluster.name = reader.text("name", reader.text("preset", "custom"));
  reader.text("description", "");  // for people and `stepcast list`
  reader.text("source", "");
  NodeSpec base;
  base.host_to_device =
      BytesPerSecond(25e9);  // PCIe 4 x16 as copies reach it; presets state their own
  const bool has_groups = reader.has("groups");
  base = read_node(reader, base, !has_groups);
  const bool states_nodes = reader.has("nodes");
  if (has_groups) {
    if (states_nodes) {
      reader.integer("nodes");
      reader.problem("nodes", "and groups both count nodes", "each group states its own nodes");
    }
    for (ObjectReader item : reader.objects("groups")) {
      NodeGroup group;
      group.count = static_cast<int>(item.integer("nodes", {.min = 1, .max = 1 << 20}));
      group.spec = read_node(item, base, base.gpu.name.empty());
      item.done();
      cluster.groups.push_back(group);
    }
  }
  if (has_groups && cluster.groups.empty())
    reader.problem("groups", "has no entry", "list node groups, or leave it out and state nodes");
  if (cluster.groups.empty()) {
    const int count =
        static_cast<int>(reader.integer("nodes", {.fallback = 1, .min = 1, .max = 1 << 20}));
    cluster.groups.push_back({base, count});
  }
  if (auto fabric = reader.object("fabric"))
    cluster.fabric = read_fabric(*fabric);
  else
    cluster.fabric.hop_latency = default_hop_latency(cluster.fabric.transport);
  cluster.placement = reader.one_of<PlacementKind>("placement", PlacementKind::linear);
  if (reader.has("clock_spread")) {
    const double spread = reader.number("clock_spread", {.min = 0, .max = 0.5});
    for (NodeGroup& group : cluster.groups) group.spec.gpu.clock_spread = spread;
  }
  check_whole(reader, cluster, states_nodes || has_groups);
  read_link_events(reader, cluster);
  reader.done();
  return cluster;
}
}  // namespace stepcast
