#include "calibrate/fit/size_curve_fit.hpp"

#include <cmath>

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
double line(double size) { return 10e-6 + size / 300e9; }
}  // namespace

TEST_CASE("samples of alpha plus beta S come back at sizes that were left out", "[fit]") {
  std::vector<SizeSample> samples;
  for (int k = 10; k <= 30; k += 4)
    samples.emplace_back(std::exp2(k), line(std::exp2(k)));  // every fourth power of two
  const auto knots = fit_size_curve(samples);
  REQUIRE(knots.size() == 21);
  for (const auto& [size, time] : knots) REQUIRE(time == Approx(line(size)).epsilon(0.03));
}

TEST_CASE("repeated noisy samples average out", "[fit]") {
  std::vector<SizeSample> samples;
  for (int k = 10; k <= 30; ++k)
    for (const double noise : {0.9, 1.0, 1.0 / 0.9})
      samples.emplace_back(std::exp2(k), line(std::exp2(k)) * noise);
  for (const auto& [size, time] : fit_size_curve(samples))
    REQUIRE(time == Approx(line(size)).epsilon(0.02));
}

TEST_CASE("fewer than three sizes come back as they are", "[fit]") {
  const std::vector<SizeSample> two{{1024, 1e-5}, {4096, 2e-5}};
  const auto knots = fit_size_curve(two);
  REQUIRE(knots.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(knots[i].first == two[i].first);
    REQUIRE(knots[i].second == Approx(two[i].second));
  }
}
