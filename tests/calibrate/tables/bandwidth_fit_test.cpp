#include "calibrate/tables/bandwidth_fit.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// 2 us and 4 TB/s inside 10 MB; 7 us and 2 TB/s above.
std::vector<BandwidthSample> two_lines() {
  std::vector<BandwidthSample> samples;
  for (int i = 1; i <= 10; ++i) samples.push_back({i * 1e6, 2 + i * 1e6 / 4e6});
  for (int i = 1; i <= 10; ++i) samples.push_back({i * 40e6, 7 + i * 40e6 / 2e6});
  return samples;
}
}  // namespace

TEST_CASE("cache and DRAM lines are found from exact samples", "[calibrate]") {
  const BandwidthFit fit = fit_bandwidth("copy", two_lines(), 10e6, FloorOrigin::device, 3, "test");
  REQUIRE(fit.latency_us == Approx(2));
  REQUIRE(fit.l2_GBps == Approx(4000));
  REQUIRE(fit.dram_GBps == Approx(2000));
  // the DRAM line starts 5 us later: 5 us * 2 TB/s = 10 MB at half rate
  REQUIRE(fit.half_rate_bytes == Approx(10e6));
  REQUIRE(mean_log_error(fit, two_lines()) < 1e-9);
}

TEST_CASE("a host's floor gives no latency to the device", "[calibrate]") {
  std::vector<BandwidthSample> samples;
  for (int i = 1; i <= 10; ++i) samples.push_back({i * 1e9, 60 + i * 1e9 / 1e6});
  const BandwidthFit fit = fit_bandwidth("copy", samples, 0, FloorOrigin::host, 2.5, "test");
  REQUIRE(fit.latency_us == Approx(2.5));
  REQUIRE(fit.half_rate_bytes == 0);
  REQUIRE(fit.dram_GBps == Approx(1000));
}

TEST_CASE("a transferred fit scales its rates and says so", "[calibrate]") {
  GpuSpec from, to;
  from.name = "old";
  from.memory_bandwidth = BytesPerSecond(1e12);
  to.memory_bandwidth = BytesPerSecond(3e12);
  const BandwidthFit fit = transferred(
      fit_bandwidth("copy", two_lines(), 10e6, FloorOrigin::device, 3, "test"), from, to, 20e6);
  REQUIRE(fit.dram_GBps == Approx(6000));
  REQUIRE(fit.latency_us == Approx(2));
  REQUIRE(fit.l2_bytes == 20e6);
  REQUIRE_THAT(fit.source, Catch::Contains("transferred from old"));
}
