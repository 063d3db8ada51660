#include <cmath>
#include <limits>
#include <vector>

#include "runtime/compress/block_codec.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::runtime;

namespace {
/// The two finite codes around `value`, by search over all codes: the oracle of rounding.
template <class Code, class Decode>
float nearest_finite(float value, int codes, const Decode& decode) {
  float best = 0;
  double distance = std::numeric_limits<double>::infinity();
  int best_code = 0;
  for (int code = 0; code < codes; ++code) {
    const float candidate = decode(static_cast<Code>(code));
    if (!std::isfinite(candidate)) continue;
    const double d = std::fabs(static_cast<double>(candidate) - static_cast<double>(value));
    if (d < distance || (d == distance && (best_code & 1) == 1 && (code & 1) == 0)) {
      distance = d;
      best = candidate;
      best_code = code;
    }
  }
  return best;
}
std::vector<float> probes(float largest) {
  std::vector<float> values{
      0.0f,   1.0f,    -1.0f,         0.1f, largest, -largest, largest * 0.999f,
      1e-30f, 3.0e-8f, 2.98023224e-8f};
  for (std::uint64_t i = 0; i < 300; ++i) {
    const float sign = (mixed(i) & 1) != 0 ? -1.0f : 1.0f;
    values.push_back(sign * std::ldexp(1.0f + static_cast<float>(mixed(i) >> 41) * 0x1p-23f,
                                       static_cast<int>(i % 40) - 28));
  }
  return values;
}
}  // namespace

TEST_CASE("every finite code of fp16 bf16 and fp8 survives a round trip", "[compress]") {
  int changed = 0;
  for (int code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    if (std::isfinite(float_of_fp16(bits)) && fp16_of(float_of_fp16(bits)) != bits) ++changed;
    if (!std::isnan(float_of_bf16(bits)) && bf16_of(float_of_bf16(bits)) != bits) ++changed;
  }
  REQUIRE(changed == 0);
  for (int code = 0; code < 256; ++code) {
    const auto bits = static_cast<std::uint8_t>(code);
    if (!std::isnan(float_of_e4m3(bits))) REQUIRE(e4m3_of(float_of_e4m3(bits)) == bits);
  }
}

TEST_CASE("conversions round to the nearest code and ties go to the even one", "[compress]") {
  for (const float value : probes(448.0f)) {
    if (std::fabs(value) <= 448.0f) {
      INFO("e4m3 of " << value);
      REQUIRE(float_of_e4m3(e4m3_of(value)) ==
              nearest_finite<std::uint8_t>(value, 256, float_of_e4m3));
    }
  }
  for (const float value : {0.1f, 1.00048828125f, 1.00146484375f, 65504.0f, 2.98023224e-8f,
                            8.94069672e-8f, -3.14159f, 6.1e-5f}) {
    INFO("fp16 of " << value);
    REQUIRE(float_of_fp16(fp16_of(value)) ==
            nearest_finite<std::uint16_t>(value, 65536, float_of_fp16));
  }
  // bf16 has 7 bits of mantissa: 1 + 2^-8 lies midway between 1 (even) and 1 + 2^-7; 1 + 3 * 2^-8
  // between 1 + 2^-7 (odd) and 1 + 2^-6.
  REQUIRE(float_of_bf16(bf16_of(1.0f + 0x1p-8f)) == 1.0f);
  REQUIRE(float_of_bf16(bf16_of(1.0f + 3 * 0x1p-8f)) == 1.0f + 0x1p-6f);
}

TEST_CASE("what does not fit saturates and NaN stays NaN", "[compress]") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  REQUIRE(float_of_fp16(fp16_of(1e6f)) == 65504.0f);
  REQUIRE(float_of_fp16(fp16_of(-infinity)) == -65504.0f);
  REQUIRE(float_of_e4m3(e4m3_of(1e6f)) == 448.0f);
  REQUIRE(float_of_e4m3(e4m3_of(-470.0f)) == -448.0f);
  REQUIRE(std::isinf(float_of_bf16(bf16_of(infinity))));
  REQUIRE(std::isnan(float_of_fp16(fp16_of(nan))));
  REQUIRE(std::isnan(float_of_bf16(bf16_of(nan))));
  REQUIRE(std::isnan(float_of_e4m3(e4m3_of(nan))));
}

TEST_CASE("an int8 block holds its largest element exactly and others within half a step",
          "[compress]") {
  // largest 254: scale 2, so 254 -> 127 and 3 -> 1.5 -> 2 (ties to even) -> 4.
  const float scale = block_scale(BlockFormat::int8, magnitude_bits(-254.0f));
  REQUIRE(scale == 2.0f);
  REQUIRE(dequantised(BlockFormat::int8, quantised(BlockFormat::int8, -254.0f, scale), scale) ==
          -254.0f);
  REQUIRE(dequantised(BlockFormat::int8, quantised(BlockFormat::int8, 3.0f, scale), scale) == 4.0f);
  REQUIRE(quantised(BlockFormat::int8, 0.0f, 0.0f) == 0);
  // NaN wins over every number, so a broken gradient stays visible.
  REQUIRE(std::isnan(
      block_scale(BlockFormat::fp8, magnitude_bits(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("random-k draws distinct indices and every element about as often", "[compress]") {
  // 10 of 103 elements, 20000 draws: each is expected 20000 * 10/103 = 1942 times (strata of 10 or
  // 11: 2000 or 1818), sigma 43.
  std::vector<int> drawn(103);
  bool is_ascending = true;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < 10; ++i) {
      const std::int64_t index = random_index(mixed(seed), i, 103, 10);
      is_ascending = is_ascending && index > last && index < 103;
      ++drawn[static_cast<std::size_t>(last = index)];
    }
  }
  REQUIRE(is_ascending);
  for (const int count : drawn) {
    REQUIRE(count > 1818 - 5 * 43);
    REQUIRE(count < 2000 + 5 * 43);
  }
}
