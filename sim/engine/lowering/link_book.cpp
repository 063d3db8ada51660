#include "sim/engine/lowering/link_book.hpp"

#include <algorithm>

namespace stepcast {

BytesPerSecond LinkBook::nic_share(const NodeSpec& node, int gpus) {
  const double nics = std::max(1.0, static_cast<double>(gpus) * node.nics / node.gpus);
  return node.nic_bandwidth * std::min(nics, static_cast<double>(std::max(1, node.nics)));
}

void LinkBook::append_cap(const std::string& key, int node, int gpus, std::vector<LinkId>& route) {
  const NodeSpec& spec = cluster_.node(node);
  if (gpus >= spec.gpus || nic_share(spec, gpus).value >= spec.nic_bandwidth.value * spec.nics)
    return;
  const auto [at, is_new] = caps_.try_emplace(key, static_cast<LinkId>(all_.size()));
  if (is_new) {
    all_.push_back({key, nic_share(spec, gpus)});
    cap_nodes_.emplace_back(node, at->second);
  }
  route.push_back(at->second);
}

void LinkBook::append_route(int a, int b, std::uint64_t hash, bool ports_only,
                            std::vector<LinkId>& route) const {
  if (!ports_only && a != b) {
    topology_.append_route(a, b, hash, route);
    return;
  }
  route.push_back(topology_.tx_port(a));
  route.push_back(topology_.rx_port(b));
}

void LinkBook::hand_over(Job& job) const {
  constexpr LinkId kUnused = ~LinkId{0};
  std::vector<LinkId> number(all_.size(), kUnused);
  const auto renumber = [&](std::vector<Edge>& edges) {
    for (Edge& edge : edges)
      for (LinkId& link : edge.route) {
        if (number[link] == kUnused) {
          number[link] = static_cast<LinkId>(job.links.size());
          job.links.push_back(all_[link]);
        }
        link = number[link];
      }
  };
  for (Group& group : job.groups) renumber(group.edges);
  for (Channel& channel : job.channels) renumber(channel.edges);
  job.node_ports.assign(static_cast<std::size_t>(cluster_.nodes()), {});
  for (int node = 0; node < cluster_.nodes(); ++node)
    for (LinkId port : {topology_.tx_port(node), topology_.rx_port(node)})
      if (number[port] != kUnused)
        job.node_ports[static_cast<std::size_t>(node)].push_back(number[port]);
  for (const auto& [node, link] : cap_nodes_)
    if (number[link] != kUnused)
      job.node_ports[static_cast<std::size_t>(node)].push_back(number[link]);
}
}  // namespace stepcast
