#include "calibrate/profile/compression_factors.hpp"

#include "tests/support/test.hpp"

namespace stepcast::calibrate::test {
namespace {
Entry entry(const std::string& key, double value) {
  Entry e{key, {}};
  e.summary.n = 15;
  e.summary.median_s = e.summary.q25_s = e.summary.q75_s = value;
  return e;
}
/// Streams at 1 GB/s, no latency, no gap: a kernel's seconds are its bytes / 1e9.
Profile one_GBps() {
  Profile profile;
  profile.name = "known";
  profile.gpu.name = "known";
  profile.gpu.peak_flops[0] = 1e11;
  profile.gpu.memory_bandwidth = BytesPerSecond(1e9);
  profile.kernels.launch_gap_us = 0;
  for (const char* kind : {"elementwise", "copy", "reduction"})
    profile.kernels.bandwidth.push_back({.kind = kind, .latency_us = 0, .dram_GBps = 1});
  return profile;
}
}  // namespace

TEST_CASE("a compressor's factor is its measured time over that of the simulator's pieces",
          "[calibrate][compress]") {
  Profile profile = one_GBps();
  // 1 MB of gradient, N = 250000 elements. fp16: encode reads 4N and writes 2N, 1.5 ms; decode the
  // other way round, 1.5 ms. Measured twice that, and half.
  add_compression_factors({entry("compress/fp16/share0.01/rank4/encode/1000000", 3e-3),
                           entry("compress/fp16/share0.01/rank4/decode/1000000", 0.75e-3),
                           entry("compress/fp16/share0.01/rank4/ratio/1000000", 2),
                           entry("compress/fp16/share0.01/rank4/error/1000000", 2e-4)},
                          2, profile);
  const auto& parameters = profile.kernels.parameters;
  REQUIRE(parameters.at("encode_factor_fp16") == Approx(2));
  REQUIRE(parameters.at("decode_factor_fp16") == Approx(0.5));
  REQUIRE(parameters.at("compression_ratio_fp16") == Approx(2));
  REQUIRE(parameters.at("compression_error_fp16") == Approx(2e-4));
}

}  // namespace stepcast::calibrate::test
