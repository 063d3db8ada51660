#include "calibrate/profile/build_profile.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/io/files.hpp"
#include "sim/profile/kernel_key.hpp"
#include "sim/profile/text_of_profile.hpp"
#include "tests/support/test.hpp"

namespace stepcast::calibrate::test {
namespace {
Entry entry(const std::string& key, double seconds) {
  Entry e{key, {}};
  e.summary.n = 30;
  e.summary.median_s = e.summary.q25_s = e.summary.q75_s = e.summary.trimmed_mean_s = seconds;
  return e;
}
/// A machine of 100 GFLOP/s that every product reaches to 80 %, weight gradients to 40 %; 10 GB/s,
/// kernels cost 1 us.
std::vector<Entry> entries_of_a_known_machine() {
  std::vector<Entry> entries{entry("launch/kernel", 1e-6), entry("launch/host", 2e-6),
                             entry("step/gap", 0.5e-6), entry("overlap/compute", 1.3)};
  for (const long m : {64, 256, 1024})
    for (const long n : {64, 256, 1024})
      for (const long k : {64, 256, 1024}) {
        const double flops =
            2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
        for (const char* direction : {"forward", "backward_data", "backward_weight"}) {
          const double rate =
              std::string(direction) == "backward_weight"                                    ? 40e9
              : (m == 1024 && n == 1024 && k == 1024 && std::string(direction) == "forward") ? 100e9
                                                                                             : 80e9;
          entries.push_back(entry(
              fmt::format("sweep/gemm/fp32/m{}/n{}/k{}/b1/{}", m, n, k, direction), flops / rate));
        }
      }
  for (const double bytes : {1e5, 1e6, 1e7, 1e8})
    entries.push_back(entry(
        fmt::format("sweep/elementwise/fp32/r{:.0f}/w{:.0f}/forward", bytes * 2 / 3, bytes / 3),
        1e-6 + bytes / 10e9));
  entries.push_back(entry("gemm/fp32/m512/n256/k128/b1", 400e-6));
  entries.push_back(entry("collective/all_reduce/2/1024", 30e-6));
  entries.push_back(entry("collective/all_reduce/2/1048576", 900e-6));
  return entries;
}
Profile known() {
  MeasuredOn on{.profile_name = "known",
                .device = {},
                .backend = "cpu",
                .ranks = 2,
                .conditions = "ordinary priority"};
  on.device.name = "test machine";
  on.device.memory = Bytes(std::int64_t{8} << 30);
  return build_profile(entries_of_a_known_machine(), on);
}
Op gemm(Pass pass, GemmShape shape) {
  return {.name = "qkv", .pass = pass, .precision = Precision::fp32, .shape = shape};
}
}  // namespace

TEST_CASE("a calibration of a known machine recovers its figures", "[calibrate]") {
  const Profile profile = known();
  REQUIRE(profile.gpu.peak(Precision::fp32).value == Approx(100e9));
  REQUIRE(profile.gpu.memory_bandwidth.value == Approx(10e9).epsilon(0.02));
  const CostModel model(profile, profile.gpu,
                        {.host = HostMode::fused, .framework = "stepcast", .is_burst = true});
  // An unseen shape inside the sweep: 2 * 128 * 512 * 512 = 67 MFLOP at 80 GFLOP/s = 839 us; the
  // weight gradient at half of it.
  REQUIRE(model.cost(gemm(Pass::forward, {.m = 128, .n = 512, .k = 512})).duration.value ==
          Approx(839e-6).epsilon(0.06));
  REQUIRE(model.cost(gemm(Pass::backward_weight, {.m = 128, .n = 512, .k = 512})).duration.value ==
          Approx(2 * 839e-6).epsilon(0.06));
  REQUIRE_FALSE(model.cost(gemm(Pass::forward, {.m = 128, .n = 512, .k = 512})).is_extrapolated);
  REQUIRE(model.cost(gemm(Pass::forward, {.m = 128, .n = 512, .k = 512})).host.value ==
          Approx(2e-6));
  const Op add{.name = "residual",
               .precision = Precision::fp32,
               .shape = StreamShape{StreamKind::elementwise, Bytes(2'000'000), Bytes(1'000'000)}};
  REQUIRE(model.cost(add).duration.value == Approx(1e-6 + 3e6 / 10e9).epsilon(0.02));
}
TEST_CASE("a shape of the measured step returns its own time with the gap behind it",
          "[calibrate]") {
  const Profile profile = known();
  const CostModel model(profile, profile.gpu, {.host = HostMode::fused, .framework = "stepcast"});
  REQUIRE(model.cost(gemm(Pass::forward, {.m = 512, .n = 256, .k = 128})).duration.value ==
          Approx(400.5e-6));
}
TEST_CASE("products in bf16 make a family and a peak of their own", "[calibrate]") {
  std::vector<Entry> entries = entries_of_a_known_machine();
  for (const Entry& e : entries_of_a_known_machine()) {
    if (!e.key.starts_with("sweep/gemm/fp32")) continue;
    std::string key = e.key;
    entries.push_back(entry(key.replace(11, 4, "bf16"), e.summary.median_s / 4));
  }
  MeasuredOn on{.profile_name = "known",
                .device = {},
                .backend = "cpu",
                .ranks = 1,
                .conditions = "ordinary priority"};
  const Profile profile = build_profile(entries, on);
  REQUIRE(profile.gpu.peak(Precision::fp32).value == Approx(100e9));
  REQUIRE(profile.gpu.peak(Precision::bf16).value == Approx(400e9));
  const CostModel model(profile, profile.gpu,
                        {.host = HostMode::fused, .framework = "stepcast", .is_burst = true});
  // As in fp32 above (839 us, its double for the weight gradient), at four times the rate.
  Op op = gemm(Pass::forward, {.m = 128, .n = 512, .k = 512});
  REQUIRE(model.cost(op).duration.value == Approx(839e-6).epsilon(0.06));
  op.precision = Precision::bf16;
  REQUIRE(model.cost(op).duration.value == Approx(839e-6 / 4).epsilon(0.06));
}
TEST_CASE("what was measured with the step replaces what a sweep found at the same size",
          "[calibrate]") {
  const auto all_reduce = [](std::int64_t bytes, double seconds) {
    return Entry{"collective/all_reduce/2/" + std::to_string(bytes), plain_figure(seconds, "")};
  };
  const Profile profile = build_profile(
      {all_reduce(1024, 1e-4),
       all_reduce(4096, 2e-4),
       {"overlap/compute", plain_figure(1.2, "")},
       all_reduce(4096, 3e-4),
       {"overlap/compute", plain_figure(1.5, "")},
       {"overlap/kernels", plain_figure(4, "")}},
      {.profile_name = "two", .device = {}, .backend = "cpu", .ranks = 2, .conditions = ""});
  REQUIRE(profile.collectives.curves.size() == 1);
  const auto& points = profile.collectives.curves.front().points;
  REQUIRE(points.size() == 2);
  REQUIRE(points[0].second.value == Approx(1e-4));
  REQUIRE(points[1].second.value == Approx(3e-4));
  REQUIRE(profile.kernels.overlap_slowdown_compute == 1.5);
  REQUIRE(profile.kernels.parameters.at("overlap_slowdown_kernels") == 4);
}
TEST_CASE("a calibrated profile survives its file and says what was not measured", "[calibrate]") {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("built_" + std::to_string(getpid()) + ".profile.json"))
                               .string();
  const Profile profile = known();
  write_file(path, text_of_profile(profile));
  const auto read = read_profile(path);
  std::filesystem::remove(path);
  REQUIRE(read);
  REQUIRE(text_of_profile(*read) == text_of_profile(profile));
  REQUIRE(read->kernels.overlap_slowdown_compute == Approx(1.3));
  REQUIRE(read->collectives.curves.size() == 1);
  REQUIRE(read->collectives.curves.front().points.back().second.value == Approx(900e-6));
  const std::string missing = joined(read->datasheet_only);
  REQUIRE_THAT(missing, Catch::Contains("attention: not measured"));
  REQUIRE_THAT(missing, !Catch::Contains("matrix products"));
}
}  // namespace stepcast::calibrate::test
