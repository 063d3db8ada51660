#include "sim/collective/single_node_curve.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::literals;

namespace {
/// T = alpha + wire / rate for every power of two from 1 KiB to 1 GiB.
CollectiveCurve line(Collective collective, int ranks, double alpha_us, double rate_GBps) {
  CollectiveCurve curve{collective, ranks, {}, "made up"};
  for (std::int64_t size = 1024; size <= (std::int64_t{1} << 30); size *= 2)
    curve.points.emplace_back(
        Bytes(size),
        Seconds(alpha_us * 1e-6 +
                static_cast<double>(size) * wire_share(collective, ranks) / (rate_GBps * 1e9)));
  return curve;
}
NodeSpec node_of(bool in_switch) {
  NodeSpec node;
  node.gpu_link = 450_GBps;
  node.in_switch_reduction = in_switch;
  return node;
}
}  // namespace

TEST_CASE("a measured point is returned exactly", "[collective]") {
  const CollectiveCurve curve = line(Collective::all_gather, 8, 10, 300);
  CollectiveProfile profile{{curve}, {}, {}};
  for (const auto& [size, time] : curve.points) {
    const SingleNodeTime found =
        single_node_time(profile, node_of(false), Collective::all_gather, size, 8);
    REQUIRE(found.total.value == Approx(time.value).epsilon(1e-9));
    REQUIRE_FALSE(found.is_extrapolated);
  }
}

TEST_CASE("time between measured points stays between them and rises with size", "[collective]") {
  // A curve with a jump, as where NCCL changes its protocol: an interpolant must not overshoot it.
  const CollectiveCurve curve{Collective::all_reduce,
                              8,
                              {{1_KiB, 10_us}, {64_KiB, 11_us}, {128_KiB, 40_us}, {1_MiB, 41_us}},
                              ""};
  double last = 0;
  for (double size = 512; size < 4e6; size *= 1.1) {
    const double time = time_on_curve(curve, size).value;
    REQUIRE(time >= last - 1e-12);
    last = time;
  }
  REQUIRE(time_on_curve(curve, 600 * 1024).value <= 41e-6 + 1e-12);
  REQUIRE(time_on_curve(curve, 512).value == Approx(10e-6));
}

TEST_CASE("beyond the largest size the bandwidth of the last points goes on", "[collective]") {
  // 100 us at 10 MB and 190 us at 20 MB: 9 us per MB more, so 280 us at 30 MB.
  const CollectiveCurve curve{Collective::all_gather, 2, {{10_MB, 100_us}, {20_MB, 190_us}}, ""};
  REQUIRE(time_on_curve(curve, 30e6).value == Approx(280e-6));
}

TEST_CASE(
    "a group size between two measured ones takes its steps from the rank count and bytes from the "
    "wire",
    "[collective]") {
  // Both curves at 300 GB/s, start-ups 6 us for 2 ranks and 12 us for 8. 4 ranks: 6 + 6 * 2/6 = 8
  // us, and 3/4 of 400 MB at 300 GB/s = 1 ms. The curve between powers of two may sag by a per
  // mille.
  CollectiveProfile profile{
      {line(Collective::all_gather, 2, 6, 300), line(Collective::all_gather, 8, 12, 300)}, {}, {}};
  const SingleNodeTime time =
      single_node_time(profile, node_of(false), Collective::all_gather, 400_MB, 4);
  REQUIRE(time.startup.value == Approx(8e-6).epsilon(0.01));
  REQUIRE(time.total.value == Approx(1008e-6).epsilon(0.005));
  REQUIRE(time.is_extrapolated);
}

TEST_CASE("four ranks keep the ring where eight reduce in the switch", "[collective]") {
  // Rings of 300 GB/s; 8 ranks all-reduce in the switch at 480 GB/s. 4 ranks of 400 MB in a ring:
  // 600 MB / 300 GB/s = 2 ms.
  CollectiveProfile profile{
      {line(Collective::all_reduce, 2, 6, 300), line(Collective::all_reduce, 8, 16, 480),
       line(Collective::all_gather, 2, 5, 300), line(Collective::all_gather, 8, 10, 300),
       line(Collective::reduce_scatter, 2, 5, 300), line(Collective::reduce_scatter, 8, 10, 300)},
      {},
      {{"in_switch_reduction_min_ranks", 5}}};
  REQUIRE(single_node_time(profile, node_of(true), Collective::all_reduce, 400_MB, 4).total.value ==
          Approx(2.0e-3).epsilon(0.01));
  REQUIRE(single_node_time(profile, node_of(true), Collective::all_reduce, 400_MB, 6).total.value <
          2.0e-3);
}

TEST_CASE("without any curve the datasheet link is used and flagged", "[collective]") {
  const SingleNodeTime time =
      single_node_time({}, node_of(false), Collective::all_gather, 360_MB, 4);
  // 3/4 of 360 MB at 0.8 x 450 GB/s = 750 us, plus 10 us and 3 steps of 1 us.
  REQUIRE(time.total.value == Approx(763e-6));
  REQUIRE(time.is_extrapolated);
  REQUIRE(time.nearest_measured == "nothing: datasheet link");
}

TEST_CASE("more ranks than measured cost more steps", "[collective]") {
  CollectiveProfile profile{
      {line(Collective::all_reduce, 2, 6, 300)}, {}, {{"step_latency_all_reduce_us", 2}}};
  REQUIRE(
      single_node_time(profile, node_of(false), Collective::all_reduce, 1_KiB, 5).startup.value ==
      Approx(12e-6).epsilon(1e-3));
}

TEST_CASE("a forced ring is rebuilt from its halves where the switch would reduce",
          "[collective]") {
  // Every ring at 300 GB/s: 2 ranks fuse without gain, so 8 ranks of 400 MB need 700 MB / 300 GB/s;
  // the switch does it at 480 GB/s.
  CollectiveProfile profile{
      {line(Collective::all_reduce, 2, 6, 300), line(Collective::all_reduce, 8, 16, 480),
       line(Collective::all_gather, 2, 5, 300), line(Collective::all_gather, 8, 10, 300),
       line(Collective::reduce_scatter, 2, 5, 300), line(Collective::reduce_scatter, 8, 10, 300)},
      {},
      {{"in_switch_reduction_min_ranks", 5}}};
  const double ring = ring_all_reduce_time(profile, node_of(true), 400_MB, 8).total.value;
  REQUIRE(ring == Approx(700e6 / 300e9).epsilon(0.02));
  REQUIRE(ring >
          single_node_time(profile, node_of(true), Collective::all_reduce, 400_MB, 8).total.value);
  // Without reduction in the switch there is nothing to force.
  REQUIRE(ring_all_reduce_time(profile, node_of(false), 400_MB, 8).total ==
          single_node_time(profile, node_of(false), Collective::all_reduce, 400_MB, 8).total);
}

TEST_CASE("scale-up links of another rate stretch what is serialised and not the start-up",
          "[collective]") {
  // Measured on 450 GB/s: 10 us, and 7/8 of 400 MB at 300 GB/s = 1167 us. Links half as fast take
  // twice the latter.
  CollectiveProfile profile{
      {line(Collective::all_gather, 8, 10, 300)}, {}, {{"curves_gpu_link_GBps", 450}}};
  NodeSpec node = node_of(false);
  REQUIRE(single_node_time(profile, node, Collective::all_gather, 400_MB, 8).total.value ==
          Approx(1177e-6).epsilon(0.005));
  REQUIRE_FALSE(single_node_time(profile, node, Collective::all_gather, 400_MB, 8).is_extrapolated);
  node.gpu_link = 225_GBps;
  const SingleNodeTime slow = single_node_time(profile, node, Collective::all_gather, 400_MB, 8);
  REQUIRE(slow.total.value == Approx(2343e-6).epsilon(0.005));
  REQUIRE(slow.startup.value == Approx(10e-6).epsilon(0.01));
  REQUIRE(slow.is_extrapolated);
  REQUIRE(slow.nearest_measured == "links of 450 GB/s");
}

TEST_CASE("a node whose switch cannot reduce rings instead", "[collective]") {
  CollectiveProfile profile{
      {line(Collective::all_reduce, 2, 6, 300), line(Collective::all_reduce, 8, 16, 480),
       line(Collective::all_gather, 2, 5, 300), line(Collective::all_gather, 8, 10, 300),
       line(Collective::reduce_scatter, 2, 5, 300), line(Collective::reduce_scatter, 8, 10, 300)},
      {},
      {{"in_switch_reduction_min_ranks", 5}}};
  // 400 MB: 700 MB on the wire at 300 GB/s against 480 GB/s in the switch. A pair rings either way.
  REQUIRE(single_node_time(profile, node_of(false), Collective::all_reduce, 400_MB, 8).total ==
          ring_all_reduce_time(profile, node_of(true), 400_MB, 8).total);
  REQUIRE(single_node_time(profile, node_of(false), Collective::all_reduce, 400_MB, 2).total ==
          single_node_time(profile, node_of(true), Collective::all_reduce, 400_MB, 2).total);
}
