#include <cmath>
#include <numeric>

#include "runtime/compress/host_device.hpp"
#include "runtime/compress/local_group.hpp"
#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
std::vector<std::vector<float>> normal_gradients(int ranks, std::int64_t n, std::uint64_t seed) {
  std::vector<std::vector<float>> gradients(static_cast<std::size_t>(ranks));
  for (auto& gradient : gradients) {
    ++seed;
    for (std::int64_t i = 0; i < n; ++i)
      gradient.push_back(
          static_cast<float>(normal_from_bits(mixed_bits(seed, static_cast<std::uint64_t>(i)))));
  }
  return gradients;
}
CompressionResult once(const CompressorChoice& choice, int ranks, std::int64_t n) {
  LocalGroup group(choice, ranks, n);
  auto gradients = normal_gradients(ranks, n, 7);
  const CompressionResult result = group.reduce(gradients);
  for (const auto& gradient : gradients)
    REQUIRE(gradient == gradients[0]);  // every rank applies the same update
  return result;
}
}  // namespace

TEST_CASE("each scheme sends the bytes its format says", "[compress]") {
  const std::int64_t n = 65536;  // 256 blocks of 256; a 256 x 256 matrix
  struct Row {
    CompressorChoice choice;
    double ratio;
  };
  const Row rows[] = {
      {{.scheme = "fp16"}, 2},
      {{.scheme = "bf16"}, 2},
      {{.scheme = "int8"}, 1024.0 / 260},  // 256 fp32 against a scale and 256 bytes
      {{.scheme = "fp8"}, 1024.0 / 260},
      {{.scheme = "onebit"}, 1024.0 / 36},          // against a scale and 32 bytes
      {{.scheme = "topk", .ratio = 1.0 / 64}, 32},  // 1024 of 65536, 8 bytes each
      {{.scheme = "randomk", .ratio = 1.0 / 64}, 64},
      {{.scheme = "powersgd", .rank = 4}, 32},  // 65536 against 4 * (256 + 256)
  };
  REQUIRE(std::size(rows) == compressor_names().size());
  for (const Row& row : rows) {
    INFO(row.choice.scheme);
    REQUIRE(once(row.choice, 3, n).ratio == Approx(row.ratio).epsilon(1e-12));
  }
}

TEST_CASE("the error of one reduction is what theory says for normal gradients", "[compress]") {
  const int ranks = 4;
  const std::int64_t n = 100000;
  // fp16: relative rounding error is at most 2^-11 per element and per addition; bf16 2^-8.
  REQUIRE(once({.scheme = "fp16"}, ranks, n).error < 0x1p-11);
  REQUIRE(once({.scheme = "bf16"}, ranks, n).error < 0x1p-8);
  REQUIRE(once({.scheme = "bf16"}, ranks, n).error > 0x1p-11);
  // int8: step = max/127, error step/sqrt(12). The maximum of 256 normals is about 2.8 (mean) ->
  // 0.0064.
  REQUIRE(once({.scheme = "int8"}, ranks, n).error ==
          Approx(2.8 / 127 / std::sqrt(12.0)).epsilon(0.1));
  // fp8 E4M3: 3 bits of mantissa; relative error of x in [1, 2) is uniform in +-2^-4: RMS
  // 2^-4/sqrt(3) = 0.036 at 1, half at 2.
  REQUIRE(once({.scheme = "fp8"}, ranks, n).error == Approx(0.026).epsilon(0.15));
  // onebit: E(|x| - m)^2 = 1 - 2/pi, so 0.603.
  REQUIRE(once({.scheme = "onebit"}, ranks, n).error ==
          Approx(std::sqrt(1 - 2 / 3.141592653589793)).epsilon(0.02));
  // randomk keeps a quarter of the energy: sqrt(3/4).
  REQUIRE(once({.scheme = "randomk", .ratio = 0.25}, ranks, n).error ==
          Approx(std::sqrt(0.75)).epsilon(0.02));
  // topk keeps |x| > z with P = 1/4, z = 1.1503: lost energy = erf-integral 1 - (2 z phi(z) + 1/4)
  // = 1 - (2*1.1503*0.2059 + 0.25) = 0.2763.
  REQUIRE(once({.scheme = "topk", .ratio = 0.25}, ranks, n).error ==
          Approx(std::sqrt(0.2763)).epsilon(0.02));
}

TEST_CASE("PowerSGD is exact for a matrix of its rank", "[compress]") {
  // M_w[i][j] = a_w[i] b[j] for all ranks: the sum has rank 1, and M' p is found in one step.
  const std::int64_t side = 40;
  std::vector<std::vector<float>> gradients(
      2, std::vector<float>(static_cast<std::size_t>(side * side)));
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (std::int64_t i = 0; i < side; ++i)
      for (std::int64_t j = 0; j < side; ++j)
        gradients[rank][static_cast<std::size_t>(i * side + j)] = static_cast<float>(
            (std::sin(0.3 * static_cast<double>(i) + static_cast<double>(rank)) + 0.1) *
            std::cos(0.7 * static_cast<double>(j)));
  LocalGroup group({.scheme = "powersgd", .rank = 2}, 2, side * side);
  REQUIRE(group.reduce(gradients).error < 1e-5);
}

TEST_CASE("error feedback makes the mean over steps exact where a single step is not",
          "[compress]") {
  // The same gradient T times: sum of results = T * exact + first residual - last residual, and the
  // residual stays bounded.
  const int ranks = 2, steps = 400;
  const std::int64_t n = 4096;
  for (const CompressorChoice& base :
       {CompressorChoice{.scheme = "fp16"}, CompressorChoice{.scheme = "bf16"},
        CompressorChoice{.scheme = "int8"}, CompressorChoice{.scheme = "fp8"},
        CompressorChoice{.scheme = "onebit"}, CompressorChoice{.scheme = "topk", .ratio = 0.1},
        CompressorChoice{.scheme = "randomk", .ratio = 0.1},
        CompressorChoice{.scheme = "powersgd", .rank = 4}}) {
    double error[2] = {};
    for (const bool has_feedback : {false, true}) {
      CompressorChoice choice = base;
      choice.has_error_feedback = has_feedback;
      LocalGroup group(choice, ranks, n);
      const auto gradients = normal_gradients(ranks, n, 3);
      std::vector<double> mean(static_cast<std::size_t>(n));
      for (int step = 0; step < steps; ++step) {
        auto copy = gradients;
        group.reduce(copy);
        for (std::size_t i = 0; i < mean.size(); ++i)
          mean[i] += static_cast<double>(copy[0][i]) / steps;
      }
      double lost = 0, whole = 0;
      for (std::size_t i = 0; i < mean.size(); ++i) {
        const double exact =
            static_cast<double>(gradients[0][i]) + static_cast<double>(gradients[1][i]);
        lost += (mean[i] - exact) * (mean[i] - exact);
        whole += exact * exact;
      }
      error[has_feedback ? 1 : 0] = std::sqrt(lost / whole);
    }
    INFO(base.scheme << " without " << error[0] << " with " << error[1]);
    // randomk without feedback is unbiased, so its mean converges too, as 1/sqrt(T).
    REQUIRE(error[1] < 0.06);
    if (base.scheme != "fp16" && base.scheme != "bf16") REQUIRE(error[1] < error[0]);
    if (base.scheme == "onebit" || base.scheme == "topk" || base.scheme == "powersgd")
      REQUIRE(error[0] > 0.3);
  }
}

TEST_CASE("top-k keeps ties of lower index and NaN is never dropped", "[compress]") {
  const auto device = new_host_device();
  const auto stream = device->new_stream("s");
  std::vector<float> x{1, -2, 2, 0.5f, 2, -2};
  std::vector<std::uint32_t> payload(6);
  device->compress_kernels()->encode_top_k(*stream, View{x.data()}, View{payload.data()}, {}, 6, 3);
  REQUIRE(payload[0] == 1);
  REQUIRE(payload[1] == 2);
  REQUIRE(payload[2] == 4);
  REQUIRE(float_of_bits(payload[3]) == -2.0f);
  REQUIRE(x == std::vector<float>{1, 0, 0, 0.5f, 0, -2});  // the residual keeps what was not sent
  x = {1e30f, std::nanf(""), 3};
  device->compress_kernels()->encode_top_k(*stream, View{x.data()}, View{payload.data()}, {}, 3, 1);
  REQUIRE(payload[0] == 1);
}

TEST_CASE("a bucket of one element and one of a block plus one work in every scheme",
          "[compress]") {
  for (const std::string& scheme : compressor_names())
    for (const std::int64_t n : {1, 257}) {
      INFO(scheme << " " << n);
      LocalGroup group({.scheme = scheme, .ratio = 1.0}, 2, n);
      std::vector<std::vector<float>> gradients(
          2, std::vector<float>(static_cast<std::size_t>(n), 2.0f));
      REQUIRE(group.reduce(gradients).error <
              1e-6);  // equal elements: every format holds them exactly, powersgd within rounding
    }
}

TEST_CASE("a wrong scheme or parameter is named with what is expected", "[compress]") {
  const auto device = new_host_device();
  const auto text_of_choice = [&](const CompressorChoice& choice) -> std::string {
    try {
      new_compressor(choice, *device, 10, 2);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  REQUIRE(text_of_choice({.scheme = "topq"}).find("did you mean \"topk\"?") != std::string::npos);
  REQUIRE(text_of_choice({.scheme = "topk", .ratio = 0}).find("0 lies outside of (0, 1]") !=
          std::string::npos);
  REQUIRE(text_of_choice({.scheme = "powersgd", .rank = 33}).find("33 lies outside of 1 to 32") !=
          std::string::npos);
  REQUIRE(text_of_choice({.scheme = "fp8"}) == "accepted");
}
