#include "calibrate/measure/stopping_rule.hpp"

#include <functional>

#include "sim/core/random.hpp"
#include "tests/support/test.hpp"

namespace stepcast::calibrate::test {
namespace {
/// mean (1 + sigma z), deterministic.
double noisy(double mean, double sigma, int i) {
  return mean * (1 + sigma * normal_from_bits(mixed_bits(11, static_cast<std::uint64_t>(i))));
}
Summary fed(StoppingRule rule, const std::function<double(int)>& sample, int* used = nullptr) {
  Sampler sampler(rule);
  int i = 0;
  for (; !sampler.is_done() && i < 100000; ++i) sampler.add(sample(i));
  if (used != nullptr) *used = i;
  return sampler.summary();
}
}  // namespace

TEST_CASE("the median's interval spans the order statistics around the middle", "[calibrate]") {
  // 100 samples 1..100: n/2 -+ 0.98 sqrt(100) = 40.2 .. 59.8 -> zero-based ranks 40 and 60, values
  // 41 and 61; half of 20 over 50.5.
  std::vector<double> samples;
  for (int i = 1; i <= 100; ++i) samples.push_back(i);
  REQUIRE(median_half_width(samples) == Approx(10 / 50.5));
  REQUIRE(median_half_width({1, 1, 1, 1, 1}) == 1);
  REQUIRE(median_half_width({0, 0, 0, 0, 0, 0}) == 0);
  REQUIRE(median_half_width({0, 0, 0, 0, 0, 1}) == 1);  // ranks 0 to 5, median 0
}
TEST_CASE("a quiet measurement ends as soon as minimum samples and time are there", "[calibrate]") {
  int used = 0;
  const Summary s = fed(
      {.min_samples = 10, .min_time_s = 0.02}, [](int) { return 0.001; }, &used);
  REQUIRE(s.reason == "precise");
  REQUIRE(s.n == 20);   // 20 samples of 1 ms are the minimum time
  REQUIRE(used == 30);  // two warm-up windows of 5 agreed
  REQUIRE(s.quality == Quality::good);
  REQUIRE(s.median_s == 0.001);
}
TEST_CASE("warm-up lasts until two windows agree and its samples do not count", "[calibrate]") {
  const Summary s = fed({}, [](int i) { return i < 15 ? 0.01 / (i + 1) + 0.001 : 0.001; });
  REQUIRE(s.median_s == 0.001);
  REQUIRE(s.q75_s == 0.001);
}
TEST_CASE("a noisy measurement goes on until it is precise or its noise has settled",
          "[calibrate]") {
  // sigma 10 %: the median's 95 % half width is 1.96 * 1.253 * 0.1 / sqrt(n); 1 % takes n = 600.
  const Summary precise =
      fed({.max_samples = 100000, .max_time_s = 1e9}, [](int i) { return noisy(0.001, 0.1, i); });
  REQUIRE((precise.reason == "precise" || precise.reason == "steady noise"));
  REQUIRE(precise.n > 64);
  REQUIRE(precise.median_s == Approx(0.001).epsilon(0.05));
}
TEST_CASE("time ends a measurement that stays imprecise and its mark says so", "[calibrate]") {
  const Summary s = fed({.max_time_s = 0.05}, [](int i) { return noisy(0.001, 0.3, i); });
  REQUIRE(s.reason == "time");
  REQUIRE(s.quality != Quality::good);
}
TEST_CASE("a clock that slows down is called drifting", "[calibrate]") {
  const Summary s =
      fed({.min_time_s = 0.3, .max_time_s = 0.4}, [](int i) { return 0.001 * (1 + 0.0005 * i); });
  REQUIRE(s.quality == Quality::drifting);
}
TEST_CASE("two modes 20 % apart are called bimodal and one hump is not", "[calibrate]") {
  std::vector<double> two, one, close;
  for (int i = 0; i < 200; ++i) {
    two.push_back(noisy(i % 3 == 0 ? 1.2 : 1.0, 0.01, i));
    one.push_back(noisy(1.0, 0.05, i));
    close.push_back(noisy(i % 2 == 0 ? 1.02 : 1.0, 0.002, i));  // apart, but by less than 5 %
  }
  REQUIRE(is_bimodal(two));
  REQUIRE_FALSE(is_bimodal(one));
  REQUIRE_FALSE(is_bimodal(close));
}
TEST_CASE("one outlier neither moves the median nor makes a mode", "[calibrate]") {
  const Summary s = fed({.min_samples = 50}, [](int i) { return i == 30 ? 0.1 : 0.001; });
  REQUIRE(s.median_s == 0.001);
  REQUIRE(s.quality == Quality::good);
}

TEST_CASE("the trimmed mean leaves out one stall and keeps what many samples share",
          "[calibrate]") {
  // Two samples of 1 s end the warm-up. Then 16 of 1 s, 3 of 2 s, one of 30 s:
  // (16 + 6) / 19; the median is 1.
  const Summary s = fed(exactly(20), [](int i) { return i == 9 ? 30.0 : i % 5 == 4 ? 2.0 : 1.0; });
  REQUIRE(s.n == 20);
  REQUIRE(s.median_s == 1);
  REQUIRE(s.trimmed_mean_s == Approx(22.0 / 19));
}
TEST_CASE("a fixed number of samples is called good by the same two percent as any other",
          "[calibrate]") {
  // 15 samples behind 2 of warm-up: 7.5 -+ 0.98 sqrt(15) = 3.7 .. 11.3, ranks 3 and 12 of the
  // sorted ones. Values 1 + i d with i = 0 .. 14 in an order without drift: half width 4.5 d / (1 +
  // 7 d). d = 0.004: 1.75 %; d = 0.01: 4.2 %.
  constexpr int order[] = {7, 0, 14, 1, 13, 2, 12, 3, 11, 4, 10, 5, 9, 6, 8};
  const auto spread_by = [&](double d) {
    return fed(exactly(15), [&](int i) { return i < 2 ? 1.0 : 1 + d * order[i - 2]; });
  };
  REQUIRE(spread_by(0.004).n == 15);
  REQUIRE(spread_by(0.004).half_width == Approx(0.018 / 1.028));
  REQUIRE(spread_by(0.004).quality == Quality::good);
  REQUIRE(spread_by(0.01).quality == Quality::unstable);
}
}  // namespace stepcast::calibrate::test
