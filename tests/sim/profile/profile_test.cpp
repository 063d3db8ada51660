#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/profile/text_of_profile.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          ("stepcast_profile_test_" + std::to_string(getpid()) + "_" + name))
      .string();
}

Profile small_profile() {
  Profile profile;
  profile.name = "test-gpu";
  profile.gpu.name = "test-gpu";
  profile.gpu.peak_flops[static_cast<std::size_t>(Precision::bf16)] = 100e12;
  profile.gpu.memory_bandwidth = BytesPerSecond(1e12);
  profile.gpu.memory = Bytes(std::int64_t{16} << 30);
  KernelFamily grid;
  grid.name = "gemm/bf16";
  grid.feature_names = {"m", "n"};
  grid.grid = UtilisationGrid{{{1, 2}, {4, 8, 16}}, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F}};
  grid.hold_out_error = 0.05;
  grid.source = "test";
  KernelFamily points;
  points.name = "attention_forward/bf16/128";
  points.feature_names = {"key_length"};
  points.feature_weights = {2};
  points.points = {{{10, 0, 0, 0}, 0.25F}, {{12, 0, 0, 0}, 0.5F}};
  points.source = "test";
  profile.kernels.families = {grid, points};
  BandwidthFit norm;
  norm.kind = "norm";
  norm.dram_GBps = 900;
  profile.kernels.bandwidth = {norm};
  profile.kernels.factors = {{"sustained/gemm", "flops", {{1e10, 1.1}, {1e12, 1.2}}, "test"}};
  profile.kernels.host["megatron"] = {10, 20, 1, 0.5, "test"};
  profile.kernels.measured = {
      {"gemm/bf16/m1/n2/k3/b1", Seconds(5e-6), Seconds(4e-6), Seconds(6e-6)}};
  profile.sources = {"here"};
  return profile;
}
/// Problems of reading the small profile after `edit` changed its JSON.
template <class Edit>
std::string problems_after(Edit edit) {
  Json json = json_of(small_profile());
  edit(json);
  const std::string path = temporary("broken.json");
  write_file(path, json.dump());
  const auto read = read_profile(path);
  std::remove(path.c_str());
  return read ? "" : read.problems().text();
}
}  // namespace

TEST_CASE("a profile reads back as it was written", "[profile]") {
  const std::string path = temporary("round.json"), text = text_of_profile(small_profile());
  write_file(path, text);
  const auto read = read_profile(path);
  std::remove(path.c_str());
  REQUIRE(read);
  REQUIRE(text_of_profile(*read) == text);
  const KernelFamily* grid = read->kernels.family("gemm/bf16");
  REQUIRE(grid != nullptr);
  REQUIRE(grid->grid->axes[1] == std::vector<double>{4, 8, 16});
  REQUIRE(grid->grid->utilisation[5] == Approx(0.6));
  REQUIRE(read->kernels.family("attention_forward/bf16/128")->points[1].features[0] == Approx(12));
  REQUIRE(read->kernels.measured[0].median.value == Approx(5e-6));
  REQUIRE(read->kernels.host.at("megatron").backward_scale == Approx(0.5));
  REQUIRE(read->gpu.memory_bandwidth.value == Approx(1e12));
}

TEST_CASE("a profile that claims another format version is refused", "[profile]") {
  REQUIRE_THAT(problems_after([](Json& j) { j["stepcast_profile"] = 2; }),
               Catch::Contains("/stepcast_profile") && Catch::Contains("2"));
}

TEST_CASE("a grid with a missing node names both counts", "[profile]") {
  const auto text = problems_after(
      [](Json& j) { j["kernels"]["families"][0]["grid"]["utilisation_percent"].erase(0); });
  REQUIRE_THAT(text, Catch::Contains("/kernels/families/0/grid/utilisation_percent") &&
                         Catch::Contains("5") && Catch::Contains("6"));
}

TEST_CASE("axes that do not rise are refused", "[profile]") {
  REQUIRE_THAT(problems_after([](Json& j) {
                 j["kernels"]["families"][0]["grid"]["n"] = {8, 4, 16};
               }),
               Catch::Contains("rising"));
}

TEST_CASE("points that are no multiple of their features are refused", "[profile]") {
  REQUIRE_THAT(problems_after([](Json& j) { j["kernels"]["families"][1]["points"].erase(0); }),
               Catch::Contains("/kernels/families/1/points"));
}

TEST_CASE("a misspelt key of a profile names the nearest one", "[profile]") {
  const auto text = problems_after([](Json& j) {
    j["kernels"]["bandwidth"][0]["dram_GBs"] = j["kernels"]["bandwidth"][0]["dram_GBps"];
    j["kernels"]["bandwidth"][0].erase("dram_GBps");
  });
  REQUIRE_THAT(text, Catch::Contains("dram_GBps"));
}

TEST_CASE("negative and absurd rates are refused", "[profile]") {
  REQUIRE_THAT(problems_after([](Json& j) { j["kernels"]["bandwidth"][0]["dram_GBps"] = -1; }),
               Catch::Contains("dram_GBps"));
  REQUIRE_THAT(problems_after([](Json& j) { j["kernels"]["overlap_slowdown_compute"] = 0.5; }),
               Catch::Contains("overlap_slowdown_compute"));
}
