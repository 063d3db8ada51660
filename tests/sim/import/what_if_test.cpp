#include "sim/import/replay/what_if.hpp"
#include "sim/core/result.hpp"
#include "sim/import/costs/kernel_samples.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
Workload two_ranks() {  // compute of 1 s and 3 s, all-reduce of 0.5 s over both, 1 s
  Workload w;
  w.origin = "test";
  w.steps = {{0, 0}};
  const NameId compute = w.names.id_of("nvjet_gemm"), reduce = w.names.id_of("reduce"),
               tail = w.names.id_of("elementwise");
  w.groups = {{"dp", GroupKind::dp, 2, {0, 1}}};
  for (int r = 0; r < 2; ++r) {
    WorkRank rank{r, r, {"gpu"}, {}};
    rank.ops.push_back({.name = compute, .duration_s = r == 0 ? 1.0 : 3.0, .step = 0, .after = {}});
    rank.ops.push_back({.kind = WorkKind::collective,
                        .name = reduce,
                        .duration_s = 0.5,
                        .bytes = 1'000'000'000,
                        .group = 0,
                        .match = 1,
                        .step = 0,
                        .after = {}});
    rank.ops.push_back({.name = tail, .duration_s = 1, .step = 0, .after = {}});
    w.ranks.push_back(rank);
  }
  return w;
}
Scenario scenario(const std::string& parallel, const std::string& more = "") {
  return scenario_of(
             Json::parse(
                 R"({"stepcast": 1, "model": {"preset": "gpt3-125m"}, "training": {"global_batch": 32, "micro_batch": 1, "sequence_length": 2048}, "parallel": )" +
                 parallel + R"(, "cluster": {"preset": "dgx-h100-ib400", "nodes": 2})" + more +
                 "}"),
             "test")
      .value_or_throw();
}
}  // namespace

TEST_CASE("each moment of a replayed step has one owner and they sum to the step",
          "[replay]") {  // nsys-ai issues 247, 278: double count
  const ReplayResult r = replay(two_ranks());
  // Rank 0: compute 1 + 1, waits 2 s for rank 1, moves 0.5 s. Rank 1: compute 3 + 1, no waiting.
  const auto owned = [&](std::size_t rank, Owner o) {
    return r.ranks[rank][0].owned[static_cast<std::size_t>(o)];
  };
  REQUIRE(owned(0, Owner::compute) == Approx(2));
  REQUIRE(owned(0, Owner::waiting) == Approx(2));
  REQUIRE(owned(0, Owner::transfer) == Approx(0.5));
  REQUIRE(owned(1, Owner::compute) == Approx(4));
  REQUIRE(owned(1, Owner::waiting) == Approx(0).margin(1e-9));
  for (const auto& rank : r.ranks) {
    double sum = 0;
    for (const double seconds : rank[0].owned) sum += seconds;
    REQUIRE(sum == Approx(4.5));
    REQUIRE(rank[0].window_s == Approx(4.5));
  }
}

TEST_CASE("an eager send ends without its receive and the receive without the sender", "[replay]") {
  // Rank 0 sends at once (1 s) and computes 1 s; rank 1 computes 5 s, then receives what is long
  // there.
  Workload w;
  w.steps = {{0, 0}};
  w.messages = MessageRule::eager;
  const NameId name = w.names.id_of("x");
  w.ranks = {{0,
              -1,
              {"a"},
              {{.kind = WorkKind::send,
                .name = name,
                .duration_s = 1,
                .peer = 1,
                .match = 1,
                .step = 0,
                .after = {}},
               {.name = name, .duration_s = 1, .step = 0, .after = {}}}},
             {1,
              -1,
              {"a"},
              {{.name = name, .duration_s = 5, .step = 0, .after = {}},
               {.kind = WorkKind::recv,
                .name = name,
                .duration_s = 1,
                .peer = 0,
                .match = 1,
                .step = 0,
                .after = {}}}}};
  REQUIRE(replay(w).ranks[0][0].end_s == Approx(2));
  REQUIRE(replay(w).total_s == Approx(5));
  w.messages = MessageRule::rendezvous;
  REQUIRE(replay(w).ranks[0][0].end_s == Approx(7));
}

TEST_CASE("collectives that two ranks start in opposite orders are let go and counted",
          "[replay]") {
  Workload w = two_ranks();
  for (int r = 0; r < 2; ++r) {
    auto& ops = w.ranks[static_cast<std::size_t>(r)].ops;
    ops.resize(1);
    for (const int m : r == 0 ? std::vector{1, 2} : std::vector{2, 1})
      ops.push_back({.kind = WorkKind::collective,
                     .name = 1,
                     .duration_s = 0.5,
                     .group = 0,
                     .match = m,
                     .step = 0,
                     .after = {}});
  }
  REQUIRE_THROWS_AS(replay(w), InputError);
  REQUIRE(dissolve_impossible_meetings(w) > 0);
  REQUIRE(replay(w).total_s == Approx(4));  // 3 + 0.5 + 0.5
  Workload sound = two_ranks();
  REQUIRE(dissolve_impossible_meetings(sound) == 0);
}

namespace {
/// One rank, two steps of `kernels` kernels on one stream, each launched by a host call of
/// `launch_us` and running for `kernel_us`; the host waits for the last kernel where `is_synced`.
Workload launched_kernels(int kernels, double launch_us, double kernel_us, bool is_synced) {
  Workload w;
  w.origin = "kineto";
  w.rule = StepRule::period;
  w.steps = {{0, 0}, {1, 0}};
  const NameId launch = w.names.id_of("cudaLaunchKernel"), gemm = w.names.id_of("gemm"),
               mark = w.names.id_of("step"), sync = w.names.id_of("cudaDeviceSynchronize");
  WorkRank rank{0, -1, {"thread", "stream"}, {}};
  const auto last = [&] { return static_cast<std::uint32_t>(rank.ops.size() - 1); };
  for (int step = 0; step < 2; ++step) {
    rank.ops.push_back({.kind = WorkKind::marker, .name = mark, .step = step, .after = {}});
    for (int k = 0; k < kernels; ++k) {
      rank.ops.push_back({.kind = WorkKind::host,
                          .name = launch,
                          .duration_s = launch_us * 1e-6,
                          .step = step,
                          .after = {}});
      rank.ops.push_back({.lane = 1,
                          .name = gemm,
                          .duration_s = kernel_us * 1e-6,
                          .step = step,
                          .after = {last()}});
    }
    if (is_synced)
      rank.ops.push_back({.kind = WorkKind::host, .name = sync, .step = step, .after = {last()}});
  }
  rank.ops.push_back({.kind = WorkKind::marker, .name = mark, .after = {}});
  w.ranks.push_back(rank);
  return w;
}
double second_step_us(const Workload& w) { return replay(w).step_s.at(1) * 1e6; }
}  // namespace

TEST_CASE("where the GPU sets the pace faster kernels show and a faster host does not",
          "[replay]") {
  // 100 kernels of 50 us, launches of 5 us, a wait at the end: 5 + 100 x 50 = 5005 us.
  const Workload w = launched_kernels(100, 5, 50, true);
  REQUIRE(second_step_us(w) == Approx(5005));
  REQUIRE(second_step_us(with_faster(w, "gemm", 2).workload) == Approx(2505));
  REQUIRE(second_step_us(with_faster_host(w, 2).workload) == Approx(5002.5));
  REQUIRE(replay(w).ranks[0][1].owned[static_cast<std::size_t>(Owner::host)] * 1e6 == Approx(5));
}

TEST_CASE("where the host sets the pace faster kernels hide and a faster host shows", "[replay]") {
  // 100 launches of 50 us, kernels of 20 us: the last one ends 100 x 50 + 20 = 5020 us in.
  const Workload w = launched_kernels(100, 50, 20, true);
  REQUIRE(second_step_us(w) == Approx(5020));
  REQUIRE(second_step_us(with_faster(w, "gemm", 2).workload) == Approx(5010));
  REQUIRE(second_step_us(with_faster_host(w, 2).workload) == Approx(2520));
  // One graph launch of 2.5 us + 100 x 1 ns, then 100 kernels of 20 us: 2002.6 us.
  REQUIRE(second_step_us(with_captured_launches(w).workload) == Approx(2002.6));
}

TEST_CASE("a host that never waits does not outrun its GPU for ever", "[replay]") {
  // Launches of 30 us beside kernels of 25 us: 3000 us a step by the marks. Twice as fast the host
  // needs 1500 us, but the GPU has 2500 us of work in every step.
  const Workload w = launched_kernels(100, 30, 25, false);
  REQUIRE(second_step_us(w) == Approx(3000));
  const ReplayResult fast = replay(with_faster_host(w, 2).workload);
  REQUIRE(fast.step_s.at(1) * 1e6 == Approx(2500));
  const auto& owned = fast.ranks[0][1].owned;
  REQUIRE(owned[static_cast<std::size_t>(Owner::compute)] * 1e6 == Approx(2500));
  REQUIRE(fast.ranks[0][1].window_s * 1e6 == Approx(2500));
}

TEST_CASE("pauses that no launch explains are not captured into a graph", "[replay]") {
  // Launches of 2 ms each: data loading, say. They stay: 10 x 2000 + 20 us.
  const Workload w = launched_kernels(10, 2000, 20, true);
  REQUIRE(second_step_us(with_captured_launches(w).workload) == Approx(20020));
}

TEST_CASE("equalising one rank or one class leaves the others as recorded", "[replay]") {
  const Workload w = two_ranks();
  // Only rank 1 takes its class's mean of 2 s: the all-reduce waits for 2 s of it.
  const Change rank = equalised(w, [](const WorkRank& r, const WorkOp&) { return r.rank != 1; });
  REQUIRE(replay(rank.workload).total_s == Approx(2 + 0.5 + 1));
  const Change tail = equalised(w, [&](const WorkRank&, const WorkOp& o) {
    return w.names.text_of(o.name) != "elementwise";
  });
  REQUIRE(replay(tail.workload).total_s == Approx(4.5));
}

TEST_CASE("another GPU scales products and memory-bound kernels by the ratio of their profiles",
          "[replay]") {
  const Profile a100 = base_profile("a100-sxm4-80g"), h100 = base_profile("h100-sxm5-80g");
  const Workload w = two_ranks();
  const Change faster = with_other_gpu(w, a100, h100);
  REQUIRE(faster.ops_changed == 4);
  const double product = faster.workload.ranks[1].ops[0].duration_s / 3,
               stream = faster.workload.ranks[1].ops[2].duration_s;
  // Datasheet peaks 312 and 989 TFLOP/s, 2039 and 3350 GB/s: both ratios lie between what the peaks
  // promise and what clocks keep.
  REQUIRE(product > 0.28);
  REQUIRE(product < 0.6);
  REQUIRE(stream == Approx(2039.0 / 3350).epsilon(0.15));
  REQUIRE(with_other_gpu(w, h100, h100).workload.ranks[1].ops[0].duration_s == Approx(3));
  REQUIRE(kernel_class_of("void flash_fwd_kernel<Flash_fwd_kernel_traits>") ==
          KernelClass::attention);
  REQUIRE(kernel_class_of("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32") == KernelClass::gemm);
  REQUIRE(kernel_class_of("void cudnn::winograd_nonfused::winogradForward") ==
          KernelClass::convolution);
  REQUIRE(kernel_class_of("void at::native::vectorized_elementwise_kernel") ==
          KernelClass::streaming);
}

TEST_CASE(
    "a network with too few GPUs for the workload's groups is refused with the nodes it needs",
    "[replay]") {
  const Scenario s = scenario(R"({"tp": 2, "pp": 2})");
  const Profile p = profile_of(s).value_or_throw();
  Workload w = with_data_parallel_size(two_ranks(), 64).workload;
  try {
    cluster_transport(w, s.cluster, p.collectives);
    FAIL("not refused");
  } catch (const InputError& e) {
    REQUIRE(std::string(e.what()).find("has 16 GPUs, the workload's ranks need 64") !=
            std::string::npos);
    REQUIRE(std::string(e.what()).find("--nodes 8") != std::string::npos);
  }
}

TEST_CASE("a slower network moves the same bytes in a longer time", "[replay]") {
  const Scenario s = scenario(R"({"tp": 2, "pp": 2})");
  const Profile p = profile_of(s).value_or_throw();
  const Workload w =
      with_data_parallel_size(two_ranks(), 16).workload;  // 1 GB over 16 GPUs of two nodes
  const auto transfer = [&](double scale) {
    CollectiveProfile slower = p.collectives;
    for (FabricFit& fit : slower.fabrics) fit.large_efficiency *= scale;
    const auto transport = cluster_transport(w, s.cluster, slower);
    ReplayOptions options;
    options.transport = transport.get();
    return replay(w, options).total_s - 4;
  };
  REQUIRE(transfer(1) > 0);
  REQUIRE(transfer(0.5) > 1.3 * transfer(1));
}

TEST_CASE("a thousand ranks replay within a second and a few hundred MB",
          "[replay]") {  // simgrid issue 375: 1008 ranks run out of memory
  Workload w;
  w.steps = {{0, 0}};
  const NameId name = w.names.id_of("x");
  w.groups = {{"dp", GroupKind::dp, 1008, {}}};
  for (int r = 0; r < 1008; ++r) {
    WorkRank rank{r, -1, {"gpu"}, {}};
    for (int i = 0; i < 100; ++i) {
      rank.ops.push_back(
          {.name = name, .duration_s = 1e-3 * (1 + (r + i) % 7), .step = 0, .after = {}});
      if (i % 10 == 9)
        rank.ops.push_back({.kind = WorkKind::collective,
                            .name = name,
                            .duration_s = 1e-3,
                            .group = 0,
                            .match = i,
                            .step = 0,
                            .after = {}});
    }
    w.groups[0].ranks.push_back(r);
    w.ranks.push_back(std::move(rank));
  }
  // Ten rounds of ten ops that last 1 to 7 ms in turn: a cycle of seven (28 ms) and three more, for
  // the slowest rank 5 + 6 + 7 = 18 ms; ranks come in all seven phases, so every round takes 46 ms,
  // and 1 ms for the collective.
  const ReplayResult r = replay(w);
  REQUIRE(r.step_s[0] == Approx(10 * 47e-3));
  REQUIRE(r.meetings.size() == 10);
}
