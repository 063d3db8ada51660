// What it runs on: GPUs, links, networks, places.
#include "tests/fidelity/sensitivity/change.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("a slower GPU takes longer by what bounds each kernel", "[sensitivity][fidelity]") {
  require_effects({
      // GEMM and attention (about nine tenths of compute) double; memory-bound kernels stay.
      {"clock_scale 0.5",
       {},
       {R"(/cluster/gpu={"base": "h100-sxm5-80g", "clock_scale": 0.5})"},
       1.5,
       2.0,
       Category::compute},
      // 1 % between 16 boards: products take 1.018 x a typical board's time.
      {"boards alike", {}, {"/cluster/clock_spread=0"}, 0.975, 0.999},
      {"half the bf16 peak",
       {},
       {R"(/cluster/gpu={"base": "h100-sxm5-80g", "peak_bf16_TFLOP_per_s": 494.5})"},
       1.5,
       2.0,
       Category::compute},
      // The update is bound by memory alone.
      {"half the memory bandwidth",
       {},
       {R"(/cluster/gpu={"base": "h100-sxm5-80g", "memory_GBps": 1675})"},
       1.9,
       2.05,
       Category::optimizer},
      {"half the memory bandwidth, whole step",
       {},
       {R"(/cluster/gpu={"base": "h100-sxm5-80g", "memory_GBps": 1675})"},
       1.1,
       1.9},
      // 312 of 989 TFLOP/s and 2.0 of 3.35 TB/s, better used.
      {"A100 for H100", {}, {"/cluster/gpu=a100-sxm4-80g"}, 1.6, 3.3},
  });
}

TEST_CASE("slower links lengthen what crosses them", "[sensitivity][fidelity]") {
  const Settings tp8{"/parallel/tp=8"};
  // Two leaves of one node each: a ring step crosses three switches, two more than the fabric's fit
  // holds.
  const Settings far{"/parallel/tp=16", "/cluster/fabric/nodes_per_leaf=1"};
  require_effects({
      // The exchange is 85 % of the step and all of it on the wire.
      {"nic_Gbps / 2", kCommunicationBound, {"/cluster/nic_Gbps=10"}, 1.6, 2.02},
      {"nics / 2", kCommunicationBound, {"/cluster/nics=4"}, 1.6, 2.02},
      {"nic_Gbps x 2 where nothing waits", {}, {"/cluster/nic_Gbps=800"}, 0.9, 1.0},
      // All-reduces of 16 MiB: 80 us, three quarters of it wire.
      {"gpu_link_GBps / 2", tp8, {"/cluster/gpu_link_GBps=225"}, 1.4, 2.0, Category::exposed_tp},
      // A ring moves 2 (n-1)/n S where the switch moves S; on H100 that shows from 16 MiB on, so
      // buffers of 64 MiB are asked.
      {"in_switch_reduction off",
       tp8 + Settings{"/training/sequence_length=16384"},
       {"/cluster/in_switch_reduction=false"},
       1.02,
       1.6,
       Category::exposed_tp},
      // 2 more switches x 10 us over each of 2 or more steps, per all-reduce of 600 us.
      {"hop_latency_us + 10",
       far,
       {"/cluster/fabric/hop_latency_us=10.3"},
       1.02,
       3.0,
       Category::exposed_tp},
      {"half a node's port from the start",
       kCommunicationBound,
       {R"(/cluster/link_events=[{"node": 1, "at_s": 0, "capacity_factor": 0.5}])"},
       1.6,
       2.02},
      // From the middle of the exchange on: half of it doubles.
      {"half a node's port from the middle",
       kCommunicationBound,
       {R"(/cluster/link_events=[{"node": 1, "at_s": 0.06, "capacity_factor": 0.5}])"},
       1.2,
       1.8},
  });
}

TEST_CASE("a thin or badly used fabric slows a communication-bound step",
          "[sensitivity][fidelity]") {
  const Settings wide{"/cluster/nodes=16", "/training/global_batch=128", "/cluster/nic_Gbps=20",
                      "/cluster/fabric/nodes_per_leaf=4"};
  const Settings thin = wide + Settings{"/cluster/fabric/oversubscription=4"};
  require_effects({
      // Linear placement: one ring edge of four leaves each leaf, and a quarter of the uplinks is
      // as wide as one port.
      {"oversubscription 4, linear placement",
       wide,
       {"/cluster/fabric/oversubscription=4"},
       0.999,
       1.3},
      // Nearly every edge of the ring leaves its leaf: three to four flows over the room of one.
      {"random placement on a thin fabric", thin, {"/cluster/placement=random"}, 1.8, 4.0},
      {"strided placement on a thin fabric", thin, {"/cluster/placement=strided"}, 1.8, 4.0},
      {"oversubscription 4 to 8",
       thin + Settings{"/cluster/placement=random"},
       {"/cluster/fabric/oversubscription=8"},
       1.5,
       2.05},
      // Hashed flows meet on some of four uplinks: two on one is the least likely good case, four
      // the worst.
      {"hashed routing",
       wide + Settings{"/cluster/placement=random"},
       {"/cluster/fabric/routing=hashed"},
       1.3,
       4.0},
  });
}

TEST_CASE("the algorithm of collectives matters", "[sensitivity][fidelity]") {
  const Settings wide{"/cluster/nodes=16", "/training/global_batch=128"};
  require_effects({
      // 2 x 127 steps for each bucket against a tree's 8; most of either hides behind the backward.
      {"ring for small buckets",
       wide + Settings{"/strategy/bucket_MiB=1"},
       {"/strategy/collective_algorithm=ring"},
       1.01,
       5.0},
      // The switches add: each node sends S where a tree sends 2 S, at little more than half of the
      // rate (sim/collective/sharp.cpp).
      {"in-network reduction",
       wide + Settings{"/cluster/nic_Gbps=20"},
       {"/cluster/fabric/in_network_reduction=true", "/strategy/collective_algorithm=sharp"},
       0.5,
       0.99},
  });
}
