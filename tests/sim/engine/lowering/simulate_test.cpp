#include <cmath>
#include <numeric>

#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
Forecast forecast(const Scenario& scenario, EngineKind engine = EngineKind::native) {
  SimulateOptions options;
  options.engine = engine;
  return simulate(scenario, small_profile(), options);
}
Scenario plain(int nodes = 4, int tp = 8, int pp = 1) {
  ParallelLayout layout;
  layout.tp = tp;
  layout.pp = pp;
  layout.dp = 0;
  return small_scenario(nodes, layout);
}
}  // namespace

TEST_CASE("a step's categories sum to it", "[simulate]") {
  for (int pp : {1, 2, 4}) {
    const Forecast f = forecast(plain(8, 8, pp));
    REQUIRE(std::accumulate(f.outcome.breakdown.begin(), f.outcome.breakdown.end(), 0.0) ==
            Approx(f.outcome.step_s).epsilon(1e-9));
  }
}

TEST_CASE("a step is never faster than the roofline of its flops", "[simulate]") {
  const Scenario scenario = plain();
  const Forecast f = forecast(scenario);
  const double flops =
      f.work.model_flops_per_sample.value * static_cast<double>(scenario.training.global_batch);
  REQUIRE(f.outcome.step_s > flops / (scenario.parallel.world() * 100e12));
}

TEST_CASE("bytes on the wire are the ring formula", "[simulate]") {
  // tp 8 on 4 nodes: every node sends 2(n-1)/n of its 8 ranks' gradients: 4 * 8 * 2 * 3/4 * bytes
  // per rank.
  const Scenario scenario = plain();
  const Forecast f = forecast(scenario);
  const std::vector<int>& blocks = f.work.blocks;
  double parameters = 0;
  for (const std::vector<int>& kinds : {f.work.before, blocks, f.work.after})
    for (int kind : kinds)
      parameters +=
          static_cast<double>(f.work.kinds[static_cast<std::size_t>(kind)].dense_parameters);
  REQUIRE(f.outcome.payload_bytes[static_cast<std::size_t>(GroupKind::dp)] ==
          Approx(4 * 8 * 2 * 0.75 * parameters * 4).epsilon(1e-9));
}

TEST_CASE("engines agree", "[simulate][fidelity]") {
  Scenario scenario = plain(8, 8, 2);
  scenario.stragglers = {{{{5, 5}}, "", 1.2, 0, 0}};
  const double native = forecast(scenario).outcome.step_s;
  REQUIRE(forecast(scenario, EngineKind::simgrid).outcome.step_s == Approx(native).epsilon(1e-9));
}

TEST_CASE("jitter draws every step anew and the same seed draws the same", "[simulate]") {
  Scenario scenario = plain();
  scenario.stragglers = {{{}, "", 1, 0.1, 0}};
  scenario.run.steps = 4;
  const std::vector<double> once = forecast(scenario).step_times,
                            again = forecast(scenario).step_times;
  REQUIRE(once.size() == 4);
  REQUIRE(once == again);
  REQUIRE(once[0] != once[1]);
  scenario.run.seed = 2;
  REQUIRE(forecast(scenario).step_times[0] != once[0]);
}

TEST_CASE("what should slow a step slows it", "[simulate]") {
  const Scenario base = plain(4, 8, 1);
  const double step = forecast(base).outcome.step_s;
  const auto changed = [&](auto change) {
    Scenario scenario = base;
    change(scenario);
    return forecast(scenario).outcome.step_s;
  };
  REQUIRE(changed([](Scenario& s) {
            s.cluster.groups[0].spec.nic_bandwidth = BytesPerSecond(1e9);
          }) > 1.1 * step);
  REQUIRE(changed([](Scenario& s) { s.cluster.groups[0].spec.gpu_link = BytesPerSecond(30e9); }) >
          1.01 * step);
  REQUIRE(changed([](Scenario& s) { s.stragglers = {{{{9, 9}}, "", 1.5, 0, 0}}; }) > 1.2 * step);
  REQUIRE(changed([](Scenario& s) {
            s.stragglers = {{{{9, 9}}, "", 1, 0, 0.01}};
          }) == Approx(step + 0.01).epsilon(0.05));
  REQUIRE(changed([](Scenario& s) { s.training.global_batch *= 2; }) > 1.7 * step);
  REQUIRE(changed([](Scenario& s) { s.strategy.overlap_grad_reduce = false; }) > step);
  REQUIRE(changed([](Scenario& s) { s.strategy.host_scale = 20; }) > 2 * step);
}

TEST_CASE("a host that does not wait at the step's end hides its first launches", "[simulate]") {
  // One small micro-batch per step: the GPU waits for the launches at the step's begin unless they
  // are already queued.
  Scenario scenario = plain(1, 8, 1);
  scenario.training.global_batch = 1;
  const Forecast waiting = forecast(scenario);
  scenario.strategy.blocking_step_end = false;
  const Forecast ahead = forecast(scenario);
  REQUIRE(ahead.outcome.step_s < waiting.outcome.step_s);
  REQUIRE(ahead.host_bound_share < waiting.host_bound_share);
}

TEST_CASE("a host that waits at batches or losses loses what a long backward gained",
          "[simulate]") {
  // Between a host that never bounds and one that always does lies one that bounds the forward
  // only.
  bool batch_matters = false, loss_matters = false;
  for (const double scale : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) {
    Scenario scenario = plain(1, 8, 1);
    scenario.strategy.host_scale = scale;
    const double free = forecast(scenario).outcome.step_s;
    scenario.strategy.batch_blocks_host = true;
    const double at_batches = forecast(scenario).outcome.step_s;
    scenario.strategy.batch_blocks_host = false;
    scenario.strategy.loss_blocks_host = true;
    const double at_losses = forecast(scenario).outcome.step_s;
    REQUIRE(at_batches >= free * (1 - 1e-12));
    REQUIRE(at_losses >= free * (1 - 1e-12));
    batch_matters = batch_matters || at_batches > 1.001 * free;
    loss_matters = loss_matters || at_losses > 1.001 * free;

    // Without tensor-parallel peers nothing is broadcast.
    Scenario alone = plain(1, 1, 1);
    alone.strategy.host_scale = scale;
    const double alone_free = forecast(alone).outcome.step_s;
    alone.strategy.batch_blocks_host = true;
    REQUIRE(forecast(alone).outcome.step_s == alone_free);
  }
  REQUIRE(batch_matters);
  REQUIRE(loss_matters);
}

TEST_CASE(
    "the profile's slowdown of overlapped collectives lengthens a communication-bound step and "
    "adds no bytes",
    "[simulate]") {
  Scenario scenario = plain();
  scenario.cluster.groups[0].spec.nic_bandwidth = BytesPerSecond(0.2e9);
  Profile profile = small_profile();
  const Forecast before = simulate(scenario, profile, SimulateOptions{EngineKind::native, {}});
  profile.kernels.overlap_slowdown_comm = 2;
  const Forecast after = simulate(scenario, profile, SimulateOptions{EngineKind::native, {}});
  REQUIRE(after.outcome.step_s > 1.3 * before.outcome.step_s);
  REQUIRE(after.outcome.payload_bytes == before.outcome.payload_bytes);
}

TEST_CASE("gradients that leave behind the backward have nothing beside them that slows them",
          "[simulate]") {
  Scenario scenario = plain();
  scenario.strategy.overlap_grad_reduce = false;
  scenario.cluster.groups[0].spec.nic_bandwidth = BytesPerSecond(0.2e9);
  Profile profile = small_profile();
  const double before =
      simulate(scenario, profile, SimulateOptions{EngineKind::native, {}}).outcome.step_s;
  profile.kernels.overlap_slowdown_comm = 2;
  REQUIRE(simulate(scenario, profile, SimulateOptions{EngineKind::native, {}}).outcome.step_s ==
          before);
}

TEST_CASE("the interval of a step holds what its framework leaves unexplained", "[simulate]") {
  const Scenario scenario = plain();
  Profile profile = small_profile();
  profile.kernels.host[scenario.strategy.framework].step_sigma = 0;
  const double without =
      simulate(scenario, profile, SimulateOptions{EngineKind::native, {}}).relative_sigma;
  profile.kernels.host[scenario.strategy.framework].step_sigma = 0.3;
  const double with =
      simulate(scenario, profile, SimulateOptions{EngineKind::native, {}}).relative_sigma;
  REQUIRE(without >= 0.01);  // runs differ
  REQUIRE(with == Approx(std::hypot(without, 0.3)).epsilon(1e-9));
}

TEST_CASE("a communication-bound step feels oversubscription and random placement", "[simulate]") {
  Scenario scenario = plain(16, 8, 1);
  scenario.cluster.groups[0].spec.nic_bandwidth = BytesPerSecond(1e9);
  const double step = forecast(scenario).outcome.step_s;
  scenario.cluster.placement = PlacementKind::random;
  scenario.cluster.fabric.oversubscription = 4;
  REQUIRE(forecast(scenario).outcome.step_s > 1.5 * step);
}

TEST_CASE("compression shortens a step on a slow network and costs time on a fast one",
          "[simulate]") {
  Scenario slow = plain(4, 8, 1);
  slow.training.global_batch = 4;
  slow.cluster.groups[0].spec.nic_bandwidth = BytesPerSecond(0.1e9);
  Scenario fast = plain(4, 8, 1);
  const double slow_plain = forecast(slow).outcome.step_s,
               fast_plain = forecast(fast).outcome.step_s;
  slow.compression = fast.compression = {CompressionScheme::fp16, 0.01, 4};
  REQUIRE(forecast(slow).outcome.step_s < 0.7 * slow_plain);
  REQUIRE(forecast(fast).outcome.step_s > 0.95 * fast_plain);
}

TEST_CASE("a bare collective takes its closed form when nothing contends", "[simulate]") {
  Scenario scenario = plain();
  scenario.collective_sweep =
      CollectiveSweep{Collective::all_reduce, {Bytes(1 << 20), Bytes(1 << 30)}, 0};
  const Profile profile = small_profile();
  const CollectiveModel model(profile.collectives, scenario.cluster.groups[0].spec,
                              scenario.cluster.fabric);
  for (Collective collective : {Collective::all_reduce, Collective::all_gather,
                                Collective::reduce_scatter, Collective::all_to_all}) {
    scenario.collective_sweep->collective = collective;
    const std::vector<SweepPoint> points =
        simulate_collectives(scenario, profile, EngineKind::native);
    REQUIRE(points.size() == 2);
    for (const SweepPoint& point : points) {
      const GroupShape shape{32, 4, 8, 1};  // four nodes under one leaf
      const double expected =
          model.uncontended_time(collective, point.size, shape, BytesPerSecond(8 * 25e9)).value;
      INFO(text_of(collective) << " of " << point.size.value);
      REQUIRE(point.time_s == Approx(expected).epsilon(1e-6));
      REQUIRE(point.busbw == Approx(static_cast<double>(point.size.value) / point.time_s *
                                    bus_factor(collective, 32)));
    }
  }
}

TEST_CASE("a bare message between nodes has one NIC however many GPUs the nodes hold",
          "[simulate]") {
  const auto seconds = [](int gpus_per_node) {
    Scenario scenario = plain(2);
    scenario.collective_sweep =
        CollectiveSweep{Collective::send_recv, {Bytes(std::int64_t{1} << 32)}, gpus_per_node};
    return simulate_collectives(scenario, small_profile(), EngineKind::native).front().time_s;
  };
  REQUIRE(seconds(8) == Approx(seconds(1)).epsilon(1e-12));
  // 4 GiB cannot beat the rate of one NIC.
  const NodeSpec& node = plain(2).cluster.groups.front().spec;
  REQUIRE(seconds(8) >= static_cast<double>(std::int64_t{1} << 32) / node.nic_bandwidth.value);
}

TEST_CASE("explicit ring rounds take as long as persistent flows", "[simulate][fidelity]") {
  Scenario scenario = plain(16);
  scenario.strategy.collective_algorithm = Algorithm::ring;
  scenario.collective_sweep =
      CollectiveSweep{Collective::all_reduce, {Bytes(1 << 16), Bytes(1 << 24), Bytes(1 << 30)}, 0};
  for (double oversubscription : {1.0, 4.0})
    for (Collective collective : {Collective::all_reduce, Collective::all_gather}) {
      scenario.cluster.fabric.oversubscription = oversubscription;
      scenario.collective_sweep->collective = collective;
      scenario.run.message_level_rings = false;
      const std::vector<SweepPoint> flows =
          simulate_collectives(scenario, small_profile(), EngineKind::native);
      scenario.run.message_level_rings = true;
      const std::vector<SweepPoint> rounds =
          simulate_collectives(scenario, small_profile(), EngineKind::native);
      for (std::size_t i = 0; i < flows.size(); ++i)
        REQUIRE(rounds[i].time_s == Approx(flows[i].time_s).epsilon(0.01));
    }
}

TEST_CASE("idle that a calibration measured is launch gap of every step", "[simulate]") {
  const Scenario scenario = plain();
  const auto with = [&](double edges_us, double hand_over_us) {
    Profile profile = small_profile();
    profile.kernels.parameters["step_edges_us"] = edges_us;
    profile.kernels.parameters["stream_hand_over_us"] = hand_over_us;
    return simulate(scenario, profile, SimulateOptions{.engine = EngineKind::native}).outcome;
  };
  constexpr auto kGap = static_cast<std::size_t>(Category::launch_gap);
  const auto without = with(0, 0), edges = with(1000, 0), both = with(1000, 250);
  // 1 ms at the ends; then two hand-overs of 0.25 ms around the gradients. The host issues the
  // first few kernels (4 us each) meanwhile.
  CHECK(edges.step_s - without.step_s == Approx(1e-3).margin(50e-6));
  CHECK(edges.breakdown[kGap] - without.breakdown[kGap] == Approx(1e-3).margin(50e-6));
  CHECK(both.step_s - edges.step_s == Approx(0.5e-3).margin(50e-6));
  CHECK(both.breakdown[kGap] - edges.breakdown[kGap] == Approx(0.5e-3).margin(50e-6));
}

TEST_CASE("factors that a calibration measured of a compressor scale its own scheme alone",
          "[simulate]") {
  Scenario scenario = plain();
  scenario.strategy.overlap_grad_reduce = false;
  scenario.strategy.bucket_bytes = Bytes(0);  // one bucket: encode, message, decode, one by one
  const auto compression = [&](CompressionScheme scheme) {
    scenario.compression.scheme = scheme;
    Profile profile = small_profile();
    const auto seconds = [&] {
      return simulate(scenario, profile, SimulateOptions{.engine = EngineKind::native})
          .outcome.breakdown[static_cast<std::size_t>(Category::compression)];
    };
    const double before = seconds();
    profile.kernels.parameters["encode_factor_fp16"] = 3;
    profile.kernels.parameters["decode_factor_fp16"] = 3;
    return seconds() / before;
  };
  CHECK(compression(CompressionScheme::fp16) == Approx(3));
  CHECK(compression(CompressionScheme::bf16) == 1);
}
