#include "sim/cluster/topologies.hpp"

namespace stepcast {
namespace {
/// One crossbar: nothing but the ports can be busy.
class SingleSwitch final : public Topology {
 public:
  explicit SingleSwitch(const ClusterSpec& cluster) { links_ = port_links(cluster); }
  void append_route(int a, int b, std::uint64_t, std::vector<LinkId>& route) const override {
    route.push_back(tx_port(a));
    route.push_back(rx_port(b));
  }
  int hops(int a, int b) const override { return a == b ? 0 : 1; }
  bool is_non_blocking() const override { return true; }
};
}  // namespace

std::unique_ptr<Topology> make_single_switch(const ClusterSpec& cluster) {
  return std::make_unique<SingleSwitch>(cluster);
}
}  // namespace stepcast
