#include "sim/cost/cost_model.hpp"
#include "sim/core/result.hpp"
#include "sim/cost/kernel_cost.hpp"
#include "sim/profile/kernel_key.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// 100 TFLOP/s bf16, 1 TB/s; GEMM at half the roofline everywhere between 64 and 4096, 1.25
/// sustained.
Profile half_speed() {
  Profile p;
  p.name = "half";
  p.gpu.name = "half";
  p.gpu.peak_flops[static_cast<std::size_t>(Precision::bf16)] = 100e12;
  p.gpu.memory_bandwidth = BytesPerSecond(1e12);
  KernelFamily gemm;
  gemm.name = "gemm/bf16";
  gemm.feature_names = {"m", "n", "k"};
  gemm.grid = UtilisationGrid{{{64, 4096}, {64, 4096}, {64, 4096}}, std::vector<float>(8, 0.5F)};
  gemm.hold_out_error = 0.0798;  // 1 sigma of 0.1
  p.kernels.families = {gemm};
  p.kernels.sustained_factor_gemm = 1.25;
  p.kernels.launch_gap_us = 1;
  p.kernels.kernel_floor_us = 2;
  BandwidthFit stream;
  stream.kind = "elementwise";
  stream.latency_us = 2;
  stream.l2_GBps = 2000;
  stream.l2_bytes = 1e6;
  stream.dram_GBps = 800;
  stream.backward_factor = 1.5;
  p.kernels.bandwidth = {stream};
  p.kernels.host["megatron"] = {10, 20, 0.5, 0.5, "test"};
  p.kernels.factors = {
      {"attention_backward_over_forward/causal", "key_length", {{1024, 4.0}, {4096, 3.0}}, "test"}};
  return p;
}
Op gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  Op op;
  op.shape = GemmShape{m, n, k, 1, false};
  return op;
}
Op stream(std::int64_t bytes, Pass pass = Pass::forward) {
  Op op;
  op.pass = pass;
  op.shape = StreamShape{StreamKind::elementwise, Bytes(bytes / 2), Bytes(bytes - bytes / 2)};
  return op;
}
CostOptions burst() {
  CostOptions options;
  options.is_burst = true;
  return options;
}
}  // namespace

TEST_CASE("a misaligned batched product costs no more than a kernel without tensor cores",
          "[cost]") {
  Profile p = half_speed();
  p.gpu.peak_flops[static_cast<std::size_t>(Precision::fp32)] = 5e12;  // plain kernels: 1.25e12
  CostOptions burst;
  burst.is_burst = true;
  const CostModel model(p, p.gpu, burst);
  const auto time = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
    Op op;
    op.shape = GemmShape{m, n, k, batch, false};
    return model.cost(op).duration.value;
  };
  // Moves (27 x 128 x 2 + 27 x 27) x 2 B x 65536 = 1.0015 GB: 2.003 ms at half the bandwidth.
  // 2 x 27 x 27 x 128 x 65536 = 12.231 GF take 9.785 ms in plain kernels, less than 13 x 2.003.
  REQUIRE(time(27, 27, 128, 65536) == Approx(2.003e-3 + 9.785e-3).epsilon(1e-3));
  // Attention scores: (2048 x 108 + 2050 x 108 + 2048 x 2050) x 2 B x 96 = 0.8911 GB against
  // 87.06 GF in 0.8706 ms, so 1.782 ms; 13 times that is less than 69.6 ms in plain kernels.
  REQUIRE(time(2048, 2050, 108, 96) == Approx(13 * 1.782e-3).epsilon(1e-3));
  REQUIRE(time(32, 32, 128, 65536) < 3e-3);  // aligned
}

TEST_CASE("a GEMM inside the measured range takes roofline over utilisation", "[cost]") {
  const Profile p = half_speed();
  // 2 * 1024^3 / 100e12 = 21.475 us, at half of it 42.95 us
  const OpCost cost = CostModel(p, p.gpu, burst()).cost(gemm(1024, 1024, 1024));
  REQUIRE(cost.duration.value == Approx(2 * 2.0 * 1024 * 1024 * 1024 / 100e12));
  REQUIRE_FALSE(cost.is_extrapolated);
  REQUIRE(cost.relative_sigma == Approx(0.1));
}

TEST_CASE("in a training loop a GEMM is slower by the sustained factor and leaves a launch gap",
          "[cost]") {
  const Profile p = half_speed();
  const double isolated = CostModel(p, p.gpu, burst()).cost(gemm(1024, 1024, 1024)).duration.value;
  REQUIRE(CostModel(p, p.gpu, {}).cost(gemm(1024, 1024, 1024)).duration.value ==
          Approx(1.25 * isolated + 1e-6));
}

TEST_CASE("a GEMM outside the measured range holds the edge and is flagged", "[cost]") {
  const Profile p = half_speed();
  const OpCost cost = CostModel(p, p.gpu, burst()).cost(gemm(65536, 4096, 4096));
  REQUIRE(cost.duration.value == Approx(2 * 2.0 * 65536 * 4096 * 4096 / 100e12));
  REQUIRE(cost.is_extrapolated);
  REQUIRE(cost.nearest_measured == "gemm/bf16 at m=4096 n=4096 k=4096");
  REQUIRE(cost.relative_sigma > 0.1);
}

TEST_CASE("a measured shape returns exactly its measured time", "[cost]") {
  Profile p = half_speed();
  const Op op = gemm(777, 333, 555);
  p.kernels.measured = {{kernel_key(op), Seconds(123e-6), Seconds(120e-6), Seconds(130e-6)}};
  REQUIRE(CostModel(p, p.gpu, {}).cost(op).duration.value == 123e-6);
}

TEST_CASE("no cost lies below the roofline even where the profile claims more than the peak",
          "[cost]") {
  Profile p = half_speed();
  for (float& u : p.kernels.families[0].grid->utilisation) u = 3.0F;
  const CostModel model(p, p.gpu, burst());
  for (const std::int64_t m : {1, 64, 1000, 100000})
    REQUIRE(model.cost(gemm(m, 256, 512)).duration >= model.roofline(gemm(m, 256, 512)));
}

TEST_CASE("streaming work pays its latency per launch and the rate of where its bytes live",
          "[cost]") {
  const Profile p = half_speed();
  const CostModel model(p, p.gpu, burst());
  // 1e6 bytes fit the L2: 2 us + 1e6 / 2e12; 8e6 bytes do not: 2 us + 8e6 / 8e11
  REQUIRE(model.cost(stream(1000000)).duration.value == Approx(2e-6 + 0.5e-6));
  REQUIRE(model.cost(stream(8000000)).duration.value == Approx(2e-6 + 10e-6));
  REQUIRE(model.cost(stream(8000000, Pass::backward_data)).duration.value == Approx(2e-6 + 15e-6));
  Op three = stream(8000000);
  three.eager_launches = 3;
  CostOptions eager = burst();
  eager.fusion = Fusion::eager;
  REQUIRE(CostModel(p, p.gpu, eager).cost(three).duration.value == Approx(6e-6 + 10e-6));
}

TEST_CASE("faster memory speeds streaming work up in proportion", "[cost]") {
  const Profile p = half_speed();
  GpuSpec fast = p.gpu;
  fast.memory_bandwidth = BytesPerSecond(2e12);
  REQUIRE(CostModel(p, fast, burst()).cost(stream(8000000)).duration.value == Approx(2e-6 + 5e-6));
}

TEST_CASE("the host pays per launch by mode and less in the backward", "[cost]") {
  const Profile p = half_speed();
  Op op = stream(100);
  op.eager_launches = 4;
  op.fused_launches = 2;
  const auto host_us = [&](HostMode mode, Pass pass) {
    CostOptions options;
    options.host = mode;
    op.pass = pass;
    return 1e6 * CostModel(p, p.gpu, options).cost(op).host.value;
  };
  REQUIRE(host_us(HostMode::eager, Pass::forward) == Approx(40));
  REQUIRE(host_us(HostMode::fused, Pass::forward) == Approx(40));
  REQUIRE(host_us(HostMode::graph, Pass::forward) == Approx(1));
  REQUIRE(host_us(HostMode::none, Pass::forward) == 0);
  REQUIRE(host_us(HostMode::fused, Pass::backward_data) == Approx(20));
}

TEST_CASE("an unknown framework is an input error that names the nearest", "[cost]") {
  const Profile p = half_speed();
  CostOptions options;
  options.framework = "megatrom";
  REQUIRE_THROWS_WITH(CostModel(p, p.gpu, options), Catch::Contains("megatron"));
}

TEST_CASE("attention backward follows its measured ratio by sequence length", "[cost]") {
  const Profile p = half_speed();
  Op op;
  AttentionShape shape{1, 16, 16, 2048, 2048, 128, 128, true, false};
  op.shape = shape;
  const CostModel model(p, p.gpu, burst());
  const double forward = model.cost(op).duration.value;
  shape.is_backward = true;
  op.shape = shape;
  // 2048 is half way from 1024 (4.0) to 4096 (3.0) in the logarithm
  REQUIRE(model.cost(op).duration.value == Approx(3.5 * forward));
}

TEST_CASE("full-mask tables of other head dimensions do not stand in for causal ones of the same",
          "[cost]") {
  Profile p = half_speed();
  const auto family = [](const char* name, float utilisation) {
    KernelFamily f;
    f.name = name;
    f.feature_names = {"sequence", "batch_heads", "group"};
    f.grid = UtilisationGrid{{{64, 8192}, {1, 4096}, {1, 16}}, std::vector<float>(8, utilisation)};
    return f;
  };
  p.kernels.families.push_back(family("attention_forward/bf16/128", 0.6F));
  p.kernels.families.push_back(family("attention_forward_full/bf16/64", 0.3F));
  p.kernels.families.push_back(family("attention_forward_full/bf16/80", 0.2F));
  const CostModel model(p, p.gpu, burst());
  const auto seconds = [&](int head_dim, bool is_causal) {
    Op op;
    op.shape = AttentionShape{1, 16, 16, 2048, 2048, head_dim, head_dim, is_causal, false};
    return model.cost(op).duration.value;
  };
  // All pairs against those of the lower triangle with its diagonal, at one utilisation.
  CHECK(seconds(128, false) / seconds(128, true) == Approx(2048.0 / 1024.5));
  // Measured dimensions keep their own: 4 x 2048^2 x 64 x 16 FLOP at 0.3 of 100 TFLOP/s.
  CHECK(seconds(64, false) == Approx(4.0 * 2048 * 2048 * 64 * 16 / 30e12));
}

TEST_CASE("what nothing measured anchors is finite and flagged", "[cost]") {
  Profile p = half_speed();
  p.kernels.families.clear();
  p.kernels.bandwidth.clear();
  const CostModel model(p, p.gpu, {});
  Op conv;
  conv.shape = ConvShape{8, 64, 56, 56, 64, 3, 1, 1};
  Op depthwise;
  depthwise.shape = ConvShape{8, 64, 56, 56, 64, 3, 1, 64};
  Op attention;
  attention.shape = AttentionShape{1, 8, 8, 512, 512, 64, 64, true, false};
  for (const Op& op : {gemm(512, 512, 512), stream(1000), conv, depthwise, attention}) {
    const OpCost cost = model.cost(op);
    REQUIRE(cost.duration.value > 0);
    REQUIRE(cost.duration.value < 1);
    REQUIRE(cost.is_extrapolated);
    REQUIRE_FALSE(cost.nearest_measured.empty());
    REQUIRE(cost.duration >= model.roofline(op));
  }
}

TEST_CASE("a collective has no kernel cost", "[cost]") {
  const Profile p = half_speed();
  Op op;
  op.shape = CollectiveShape{};
  REQUIRE_THROWS_AS(CostModel(p, p.gpu, {}).cost(op), InternalError);
}

TEST_CASE(
    "an extrapolation is doubted more than a shape inside and no more than work that nothing was "
    "measured of",
    "[cost]") {
  // 3 x 0.05 is under a quarter; 3 x 0.1 counts; 3 x 0.2 would exceed the datasheet roofline's 0.4;
  // 0.5 inside stays 0.5.
  REQUIRE(extrapolated_sigma(0.05) == 0.25);
  REQUIRE(extrapolated_sigma(0.1) == Approx(0.3));
  REQUIRE(extrapolated_sigma(0.2) == kUnmeasuredSigma);
  REQUIRE(extrapolated_sigma(0.5) == 0.5);
}
