#include "sim/collective/collective_model.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::literals;

namespace {
/// A fabric without losses: no latency but 1 us per LL step, efficiency 1.
CollectiveProfile ideal(double step_us = 0) {
  FabricFit fit;
  fit.transport = "infiniband";
  fit.ring_step_latency = fit.tree_step_latency = fit.simple_step_latency = Seconds(step_us * 1e-6);
  fit.large_efficiency = 1;
  fit.all_to_all_efficiency = fit.pair_efficiency = 1;
  return {{}, {fit}, {}};
}
NodeSpec node_of(int gpus) {
  NodeSpec node;
  node.gpus = gpus;
  node.gpu_link = 1e6 * 1_GBps;  // inside a node nothing takes time
  node.nics = gpus;
  node.nic_bandwidth = 50_GBps;
  return node;
}
FabricSpec flat() {
  FabricSpec fabric;
  fabric.hop_latency = 0_s;
  return fabric;
}
using Pattern = CollectiveTerms::Pattern;
}  // namespace

TEST_CASE("ring all-reduce moves 2(n-1)/n of the buffer over each edge", "[collective]") {
  const CollectiveModel model(ideal(), node_of(8), flat(), Algorithm::ring);
  // n = 32: 2 * 31/32 * 1 GiB.
  const CollectiveTerms terms = model.terms(Collective::all_reduce, 1_GiB, {32, 4, 8, 1});
  REQUIRE(terms.pattern == Pattern::ring);
  REQUIRE(terms.payload_edge_bytes == Approx(2 * 31.0 / 32 * 1073741824.0));
  REQUIRE(terms.edge_bytes == Approx(terms.payload_edge_bytes));
  REQUIRE(model.terms(Collective::all_gather, 1_GiB, {32, 4, 8, 1}).payload_edge_bytes ==
          Approx(31.0 / 32 * 1073741824.0));
  REQUIRE(model.terms(Collective::reduce_scatter, 1_GiB, {32, 4, 8, 1}).payload_edge_bytes ==
          Approx(31.0 / 32 * 1073741824.0));
}

TEST_CASE("one rank per node in a ring of four nodes takes its closed form", "[collective]") {
  // S = 8 GB, n = 4, one NIC of 50 GB/s: 2 * 3/4 * 8 / 50 = 240 ms, no latency. Simple is chosen
  // for its full rate.
  const CollectiveModel model(ideal(), node_of(1), flat(), Algorithm::ring);
  REQUIRE(model.uncontended_time(Collective::all_reduce, 8_GB, {4, 4, 1, 1}, 50_GBps).value ==
          Approx(0.24));
}

TEST_CASE("low-latency protocols approach line rate as an edge carries more", "[collective]") {
  // Half of LL128's rate at small messages, of 0.92 of the line at large ones: over 32 nodes of 8,
  // an all-gather of 1 GiB comes within 15 % of what Simple would take at line rate, (n-1)/n 1 GiB
  // / 400 GB/s = 2.67 ms.
  CollectiveProfile profile = ideal(2);
  profile.fabrics[0].ll_efficiency = 0.5;
  profile.fabrics[0].ll_half_loss = 3e7;
  const CollectiveModel model(profile, node_of(8), flat(), Algorithm::ring);
  const double time =
      model.uncontended_time(Collective::all_gather, 1_GiB, {256, 32, 8, 1}, 400_GBps).value;
  REQUIRE(time > 2.67e-3);
  REQUIRE(time < 1.15 * 2.67e-3 + 255 * 3.4e-6);
}

TEST_CASE("rings over racks reach eight NICs of each and all-to-all reaches all", "[collective]") {
  const CollectiveModel model(ideal(), node_of(72), flat(), Algorithm::ring);
  // 20 racks of 72: edges carry 2 (n-1)/n S, over 8 of 72 NICs of 50 GB/s; LL128 with 0.92 of the
  // wire wins by latency.
  const CollectiveTerms ring = model.terms(Collective::all_reduce, 8_GB, {1440, 20, 72, 1});
  REQUIRE(ring.payload_edge_bytes == Approx(2 * 1439.0 / 1440 * 8e9));
  REQUIRE(ring.edge_bytes == Approx(ring.payload_edge_bytes * 72 / 8 / 0.92));
  const CollectiveTerms direct = model.terms(Collective::all_to_all, 8_GB, {1440, 20, 72, 1});
  REQUIRE(direct.edge_bytes == Approx(direct.payload_edge_bytes));
  // One rank per rack has one NIC's share anyway.
  const CollectiveTerms one = model.terms(Collective::all_reduce, 8_GB, {20, 20, 1, 1});
  REQUIRE(one.edge_bytes == Approx(one.payload_edge_bytes));
}

TEST_CASE("sibling groups that share a node's port take their share of its time", "[collective]") {
  const CollectiveModel model(ideal(), node_of(8), flat(), Algorithm::ring);
  const double alone =
      model.uncontended_time(Collective::all_gather, 8_GB, {4, 4, 1, 1}, 400_GBps).value;
  const double shared =
      model.uncontended_time(Collective::all_gather, 8_GB, {4, 4, 1, 1}, 50_GBps).value;
  REQUIRE(shared == Approx(8 * alone));
}

TEST_CASE("a tree sends twice the buffer and with two nodes once", "[collective]") {
  const CollectiveModel model(ideal(), node_of(8), flat(), Algorithm::tree);
  REQUIRE(model.terms(Collective::all_reduce, 1_GB, {64, 8, 8, 1}).payload_edge_bytes ==
          Approx(2e9));
  REQUIRE(model.terms(Collective::all_reduce, 1_GB, {16, 2, 8, 1}).payload_edge_bytes ==
          Approx(1e9));
}

TEST_CASE("small all-reduces over many nodes take the tree and large ones over few the ring",
          "[collective]") {
  const CollectiveModel model(ideal(3), node_of(8), flat());
  REQUIRE(model.terms(Collective::all_reduce, 16_KiB, {1024, 128, 8, 1}).algorithm ==
          Algorithm::tree);
  REQUIRE(model.terms(Collective::all_reduce, 4_GiB, {32, 4, 8, 1}).algorithm == Algorithm::ring);
  // Only all-reduce has a tree.
  REQUIRE(model.terms(Collective::all_gather, 16_KiB, {1024, 128, 8, 1}).algorithm ==
          Algorithm::ring);
}

TEST_CASE("reduction in the network sends the buffer once whatever the node count",
          "[collective]") {
  FabricSpec fabric = flat();
  fabric.in_network_reduction = true;
  const CollectiveModel model(ideal(), node_of(8), fabric);
  for (const int nodes : {4, 64}) {
    const CollectiveTerms terms =
        model.terms(Collective::all_reduce, 1_GB, {8 * nodes, nodes, 8, 1});
    REQUIRE(terms.algorithm == Algorithm::sharp);
    REQUIRE(terms.pattern == Pattern::reduction_switch);
    REQUIRE(terms.payload_edge_bytes == Approx(1e9));
  }
}

TEST_CASE("a node's all-to-all sends to every rank outside it", "[collective]") {
  // 8 ranks per node, n = 32: 8 * S * 24/32 = 6 S.
  const CollectiveModel model(ideal(), node_of(8), flat());
  const CollectiveTerms terms = model.terms(Collective::all_to_all, 1_GB, {32, 4, 8, 1});
  REQUIRE(terms.pattern == Pattern::all_pairs);
  REQUIRE(terms.payload_edge_bytes == Approx(6e9));
}

TEST_CASE("a message between two nodes is held to one NIC", "[collective]") {
  const CollectiveModel model(ideal(), node_of(8), flat());
  REQUIRE(model.terms(Collective::send_recv, 1_GB, {2, 2, 1, 1}).pattern == Pattern::pair);
  REQUIRE(model.uncontended_time(Collective::send_recv, 1_GB, {2, 2, 1, 1}, 400_GBps).value ==
          Approx(1.0 / 50));
}

TEST_CASE(
    "hierarchical all-reduce sends 2(N-1)/N of the buffer per node and adds the phases inside",
    "[collective]") {
  const CollectiveModel model(ideal(), node_of(8), flat(), Algorithm::hierarchical);
  const CollectiveTerms terms = model.terms(Collective::all_reduce, 1_GB, {32, 4, 8, 1});
  REQUIRE(terms.payload_edge_bytes == Approx(1.5e9));
  REQUIRE(terms.algorithm == Algorithm::hierarchical);
}

TEST_CASE("a longer path and a faster port move the time in the right direction", "[collective]") {
  FabricSpec fabric = flat();
  fabric.hop_latency = 1_us;
  const CollectiveModel model(ideal(3), node_of(8), fabric);
  for (const Collective collective : {Collective::all_reduce, Collective::all_gather,
                                      Collective::all_to_all, Collective::broadcast})
    for (const Bytes size : {1_KiB, 1_MiB, 1_GiB}) {
      const double near = model.uncontended_time(collective, size, {64, 8, 8, 1}, 400_GBps).value;
      REQUIRE(model.uncontended_time(collective, size, {64, 8, 8, 5}, 400_GBps).value > near);
      REQUIRE(model.uncontended_time(collective, size, {64, 8, 8, 1}, 200_GBps).value > near);
    }
}

TEST_CASE("an unfitted transport is flagged", "[collective]") {
  FabricSpec fabric = flat();
  fabric.transport = "omnipath";
  const CollectiveModel model(ideal(), node_of(8), fabric);
  const CollectiveTerms terms = model.terms(Collective::all_reduce, 1_GB, {32, 4, 8, 1});
  REQUIRE(terms.is_extrapolated);
  REQUIRE(terms.nearest_measured == "nothing on omnipath");
}

TEST_CASE("a torus ring uses every direction that the group spans", "[collective]") {
  // 4 x 4 x 4 chips with 300 GB/s each, 50 GB/s per link. 64 chips: six part-rings of 2 * 63/64 * S
  // / 6 on 50 GB/s links.
  FabricSpec fabric = flat();
  fabric.kind = FabricKind::torus;
  fabric.torus_shape = {4, 4, 4};
  NodeSpec chip = node_of(1);
  chip.nic_bandwidth = 300_GBps;
  const CollectiveModel model(ideal(), chip, fabric, Algorithm::ring);
  const double expected = 2 * 63.0 / 64 * 6e9 / 6 / 50e9;
  REQUIRE(model.uncontended_time(Collective::all_reduce, 6_GB, {64, 64, 1, 3}, 300_GBps).value ==
          Approx(expected));
}

TEST_CASE("a ring waits for its lap or is busy with bytes and not one after the other",
          "[collective]") {
  // All-gather over five nodes of one rank in the Simple protocol with 100 us a step: four steps
  // make a lap of 400 us. (n-1)/n S at 50 GB/s: 6.25 MB keep an edge busy for 100 us, so the lap
  // decides; 62.5 MB for 1000 us, and the last chunk's step of 100 us follows.
  CollectiveProfile profile = ideal();
  profile.fabrics[0].simple_step_latency = Seconds(100e-6);
  profile.fabrics[0].ll128 = false;
  const CollectiveModel model(profile, node_of(1), flat(), Algorithm::ring);
  const auto time = [&](double bytes) {
    return model
        .uncontended_time(Collective::all_gather, Bytes(static_cast<std::int64_t>(bytes)),
                          {5, 5, 1, 1}, 50_GBps)
        .value;
  };
  CHECK(time(6.25e6) == Approx(400e-6));
  CHECK(time(62.5e6) == Approx(1100e-6));
}

TEST_CASE("a transport with its software takes its own fit and the transport's where it has none",
          "[collective]") {
  // Two nodes of one rank: S/2 at 50 GB/s x efficiency. 1 GB: 10 ms at 1.0 and 20 ms at 0.5.
  CollectiveProfile profile = ideal();
  profile.fabrics[0].transport = "slingshot";
  profile.fabrics.push_back(profile.fabrics[0]);
  profile.fabrics[1].transport = "slingshot-nccl2.18";
  profile.fabrics[1].large_efficiency = 0.5;
  const auto time = [&](const char* transport) {
    FabricSpec fabric = flat();
    fabric.transport = transport;
    return CollectiveModel(profile, node_of(1), fabric, Algorithm::ring)
        .uncontended_time(Collective::all_gather, 1_GB, {2, 2, 1, 1}, 50_GBps)
        .value;
  };
  CHECK(time("slingshot") == Approx(0.010));
  CHECK(time("slingshot-nccl2.18") == Approx(0.020));
  CHECK(time("slingshot-nccl2.21") == Approx(0.010));
}
