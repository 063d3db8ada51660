#include <fmt/format.h>

#include <cstdlib>

#include "sim/cluster/topologies.hpp"
#include "sim/core/assert.hpp"

/// A ring in every dimension, first dimension fastest in the node number. A node's port (its NICs
/// together) is what it can inject into all 2 x dimensions links at once, so one link carries port
/// / (2 x dimensions). Routes correct one dimension after the other, the shorter way round; at half
/// way the direction is up.
namespace stepcast {
namespace {
class Torus final : public Topology {
 public:
  explicit Torus(const ClusterSpec& cluster) : shape_(cluster.fabric.torus_shape) {
    links_ = port_links(cluster);
    first_link_ = static_cast<LinkId>(links_.size());
    const int nodes = cluster.nodes();
    int product = 1;
    for (const int size : shape_) product *= size;
    STEPCAST_ASSERT(product == nodes, "read_cluster checked the shape against the number of nodes");
    for (int node = 0; node < nodes; ++node) {
      const BytesPerSecond each =
          links_[tx_port(node)].capacity / (2.0 * static_cast<double>(shape_.size()));
      for (std::size_t d = 0; d < shape_.size(); ++d) {
        links_.push_back({fmt::format("node{}.dim{}.up", node, d), each});
        links_.push_back({fmt::format("node{}.dim{}.down", node, d), each});
      }
    }
  }

  void append_route(int a, int b, std::uint64_t, std::vector<LinkId>& route) const override {
    route.push_back(tx_port(a));
    int at = a, stride = 1;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const int size = shape_[d];
      int position = a / stride % size;
      int steps = signed_steps(a, b, stride, size);
      for (; steps != 0; steps += steps > 0 ? -1 : 1) {
        const bool up = steps > 0;
        route.push_back(first_link_ +
                        static_cast<LinkId>(2 * (static_cast<std::size_t>(at) * shape_.size() + d) +
                                            (up ? 0 : 1)));
        const int next = (position + (up ? 1 : size - 1)) % size;
        at += (next - position) * stride;
        position = next;
      }
      stride *= size;
    }
    route.push_back(rx_port(b));
  }
  int hops(int a, int b) const override {
    int total = 0, stride = 1;
    for (const int size : shape_) {
      total += std::abs(signed_steps(a, b, stride, size));
      stride *= size;
    }
    return total;
  }
  /// Transit traffic shares links with what nodes inject.
  bool is_non_blocking() const override { return links_.size() <= 2 + 2 * shape_.size(); }

 private:
  static int signed_steps(int a, int b, int stride, int size) {
    const int ahead = ((b / stride - a / stride) % size + size) % size;
    return 2 * ahead <= size ? ahead : ahead - size;
  }
  std::vector<int> shape_;
  LinkId first_link_ = 0;
};
}  // namespace

std::unique_ptr<Topology> make_torus(const ClusterSpec& cluster) {
  return std::make_unique<Torus>(cluster);
}
}  // namespace stepcast
