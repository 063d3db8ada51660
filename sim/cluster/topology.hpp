#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster_spec.hpp"

namespace stepcast {
using LinkId = std::uint32_t;
struct LinkSpec {
  std::string name;
  BytesPerSecond capacity;
};

/// The inter-node network as unidirectional links; GPUs of a node share its ports (rails folded: a
/// port's capacity is the sum of its NICs). Routes of a flow a -> b: tx port of a, switch links, rx
/// port of b.
class Topology {
 public:
  virtual ~Topology() = default;
  const std::vector<LinkSpec>& links() const { return links_; }
  LinkId tx_port(int node) const { return static_cast<LinkId>(2 * node); }
  LinkId rx_port(int node) const { return static_cast<LinkId>(2 * node + 1); }
  /// Appends the links of one flow from physical node a to b (a != b). `flow_hash` picks among
  /// equal-cost paths when routing is hashed; adaptive routing spreads a flow over all of them (an
  /// aggregated link).
  virtual void append_route(int a, int b, std::uint64_t flow_hash,
                            std::vector<LinkId>& route) const = 0;
  /// Switch traversals between two nodes, for latency.
  virtual int hops(int a, int b) const = 0;
  /// True when no link but ports can ever be the bottleneck (full bisection, adaptive routing):
  /// folding is exact then.
  virtual bool is_non_blocking() const = 0;

 protected:
  std::vector<LinkSpec> links_;  // the first 2 * nodes are the ports
};
/// Builds links for single switch, fat tree / rail-optimised (2 or 3 levels, oversubscription,
/// ECMP), dragonfly, torus.
std::unique_ptr<Topology> make_topology(const ClusterSpec& cluster);
}  // namespace stepcast
