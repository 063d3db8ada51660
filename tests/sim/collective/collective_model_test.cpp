#include "sim/collective/collective_model.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::literals;

TEST_CASE("bus factors are those of nccl-tests", "[collective]") {
  REQUIRE(bus_factor(Collective::all_reduce, 8) == Approx(1.75));
  REQUIRE(bus_factor(Collective::all_gather, 8) == Approx(0.875));
  REQUIRE(bus_factor(Collective::reduce_scatter, 4) == Approx(0.75));
  REQUIRE(bus_factor(Collective::all_to_all, 2) == Approx(0.5));
  REQUIRE(bus_factor(Collective::broadcast, 64) == 1);
  REQUIRE(bus_factor(Collective::send_recv, 8) == 1);
}

TEST_CASE("a group of one rank costs nothing", "[collective]") {
  const CollectiveModel model({}, NodeSpec{}, FabricSpec{});
  for (const Collective collective :
       {Collective::all_reduce, Collective::all_to_all, Collective::send_recv}) {
    const CollectiveTerms terms = model.terms(collective, 1_GiB, {1, 1, 1, 0});
    REQUIRE(terms.startup.value == 0);
    REQUIRE(terms.intra.value == 0);
    REQUIRE(terms.edge_bytes == 0);
  }
}

TEST_CASE("a group inside one node sends nothing over the network", "[collective]") {
  NodeSpec node;
  node.gpu_link = 300_GBps;
  const CollectiveModel model({}, node, FabricSpec{});
  for (const auto& [collective, text] : EnumText<Collective>::table) {
    const CollectiveTerms terms = model.terms(collective, 1_MiB, {8, 1, 8, 0});
    INFO(text);
    REQUIRE(terms.pattern == CollectiveTerms::Pattern::none);
    REQUIRE(terms.edge_bytes == 0);
    REQUIRE(terms.startup.value > 0);
  }
}

TEST_CASE("kernel TCP is bound by its sockets and not by a fast port", "[collective]") {
  const auto time = [](double nic_GBps) {
    NodeSpec node;
    node.gpu_link = 300_GBps;
    node.nics = 4;
    node.nic_bandwidth = BytesPerSecond(nic_GBps * 1e9);
    FabricSpec fabric;
    fabric.transport = "tcp";
    return CollectiveModel({}, node, fabric)
        .uncontended_time(Collective::all_reduce, 4_GiB, {16, 2, 8, 1},
                          node.nic_bandwidth * static_cast<double>(node.nics))
        .value;
  };
  // 10 Gb/s ports: 0.8 x 1.25 = 1 GB/s each; 100 and 400 Gb/s ports: 4.2 GB/s each.
  REQUIRE(time(1.25) / time(12.5) == Approx(4.2).epsilon(0.02));
  REQUIRE(time(50) == Approx(time(12.5)).epsilon(1e-9));
  // Two nodes exchange at least S in each direction: 4 GiB at 4 x 4.2 GB/s.
  REQUIRE(time(12.5) > 4.294967296 / 16.8);
}
