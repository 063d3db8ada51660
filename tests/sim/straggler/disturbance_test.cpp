#include "sim/straggler/disturbance.hpp"

#include <cmath>

#include "sim/core/random.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
Disturbance one_rank(StragglerSpec cause) {
  Disturbance d;
  d.causes = {std::move(cause)};
  d.ranks = {{0, {0}}};
  return d;
}
double mean_factor(const JitterSpec& jitter) {
  double sum = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i)
    sum += jitter_factor(jitter, mixed_bits(static_cast<std::uint64_t>(i), 17));
  return sum / kDraws;
}
}  // namespace

TEST_CASE("each jitter has the mean that its parameters state", "[straggler]") {
  // lognormal: 1 by construction. exponential: 1 + scale. pareto: 1 - p + p a / (a - 1); a = 3, p =
  // 0.1: 0.9 + 0.15 = 1.05
  CHECK(mean_factor({.kind = JitterKind::lognormal, .sigma = 0.3}) == Approx(1).epsilon(0.01));
  CHECK(mean_factor({.kind = JitterKind::exponential, .scale = 0.2}) == Approx(1.2).epsilon(0.01));
  CHECK(mean_factor({.kind = JitterKind::pareto, .shape = 3, .probability = 0.1}) ==
        Approx(1.05).epsilon(0.01));
}

TEST_CASE("a periodic pause by time stops a pass where it falls into it", "[straggler]") {
  StragglerSpec gc;
  gc.periodic = {.period_s = 10, .pause_s = 0.5, .together = true};
  const Disturbance d = one_rank(gc);
  // One pause in every 10 s whatever the phase: 20 s of work from any start meets two pauses of 0.5
  // s, or three where the work plus its pauses just reaches the next.
  const double stretched = d.stretch({.seed = 1, .time_s = 3}, 20) * 20;
  CHECK((stretched == Approx(21) || stretched == Approx(21.5)));
  // 0.1 s of work meets none or one.
  const double small = d.stretch({.seed = 1, .time_s = 3}, 0.1) * 0.1;
  CHECK((small == Approx(0.1) || (small > 0.1 && small <= 0.6 + 1e-9)));
}

TEST_CASE("a slow spell stretches exactly the work that falls into it", "[straggler]") {
  // Always on: a spell of 10 s every 10 s at factor 2 doubles any work.
  StragglerSpec hot;
  hot.periodic = {.period_s = 10, .duration_s = 10, .slowdown = 2};
  CHECK(one_rank(hot).stretch({.seed = 5, .time_s = 42}, 7) == Approx(2));
}

TEST_CASE("bursts start as a Poisson process of the stated rate", "[straggler]") {
  // 1 in 50 s over 200,000 s: 4000 +- 63; the mean gap's spread makes 5 % ten standard deviations.
  const auto bursts =
      bursts_between({.every_s = 50, .duration_s = 1, .slowdown = 3}, 99, 0, 200'000);
  CHECK(static_cast<double>(bursts.size()) == Approx(4000).epsilon(0.05));
  // Any window gives the same bursts as the whole.
  const auto window =
      bursts_between({.every_s = 50, .duration_s = 1, .slowdown = 3}, 99, 1000, 3000);
  for (const auto& burst : window)
    CHECK(std::find(bursts.begin(), bursts.end(), burst) != bursts.end());
}

TEST_CASE("drift grows with the clock up to its limit", "[straggler]") {
  StragglerSpec dust;
  dust.drift = {.per_hour = 0.1, .limit = 1.5};
  const Disturbance d = one_rank(dust);
  CHECK(d.stretch({.time_s = 0}, 1) == Approx(1));
  CHECK(d.stretch({.time_s = 7200}, 1) == Approx(1.2));
  CHECK(d.stretch({.time_s = 360'000}, 1) == Approx(1.5));
}

TEST_CASE("a pause by steps hits every rank once per period and all at once when together",
          "[straggler]") {
  StragglerSpec gc;
  gc.periodic = {.period_steps = 7, .pause_s = 0.25, .together = true};
  Disturbance d = one_rank(gc);
  d.ranks.push_back({1, {0}});
  int hits = 0;
  for (int step = 0; step < 70; ++step) hits += d.pause_s(1, step) > 0 ? 1 : 0;
  CHECK(hits == 10);
  // Apart: two ranks with phases of their own hit up to twice as many steps, and at least as many.
  d.causes[0].periodic.together = false;
  int apart = 0;
  for (int step = 0; step < 70; ++step) apart += d.pause_s(1, step) > 0 ? 1 : 0;
  CHECK(apart >= 10);
  CHECK(apart <= 20);
}

TEST_CASE("the slowest rank of a block decides and an undisturbed one keeps it at 1",
          "[straggler]") {
  StragglerSpec fast;
  fast.jitter = {.kind = JitterKind::lognormal, .each = JitterScope::run, .sigma = 0.5};
  Disturbance d = one_rank(fast);
  d.ranks.push_back({-1, {}});
  for (std::uint64_t seed = 0; seed < 50; ++seed) CHECK(d.stretch({.seed = seed}, 1) >= 1);
}

TEST_CASE("draws of other causes do not change when one is taken out", "[straggler]") {
  StragglerSpec a, b;
  a.jitter = {.kind = JitterKind::exponential, .each = JitterScope::step, .scale = 0.3};
  b.jitter = a.jitter;
  Disturbance both;
  both.causes = {a, b};
  both.ranks = {{4, {0, 1}}};
  Disturbance second = both;
  second.causes[0] = {};
  Disturbance first = both;
  first.causes[1] = {};
  const Moment m{.seed = 3, .step = 9};
  CHECK(both.stretch(m, 1) == Approx(first.stretch(m, 1) * second.stretch(m, 1)));
}
