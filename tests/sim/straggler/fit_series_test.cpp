#include "sim/straggler/fit_series.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
/// Steps of `ranks` lognormally jittering ranks around 2 s.
std::vector<double> series(int steps, int ranks, double sigma) {
  std::vector<double> out;
  for (int s = 0; s < steps; ++s) {
    double slowest = 0;
    for (int r = 0; r < ranks; ++r)
      slowest = std::max(
          slowest, std::exp(sigma * normal_from_bits(mixed_bits(static_cast<std::uint64_t>(s),
                                                                static_cast<std::uint64_t>(r))) -
                            sigma * sigma / 2));
    out.push_back(2 * slowest);
  }
  return out;
}
}  // namespace

TEST_CASE("a series gives back the jitter of its ranks and the step without it", "[straggler]") {
  // 1500 steps: the deviation of a sample is known to 1 / sqrt(2 * 1500) = 2 %; 8 % is four of
  // them.
  for (const int ranks : {1, 64}) {
    const SeriesFit fit = fit_step_series(series(1500, ranks, 0.05), ranks, "test");
    CHECK(fit.rank_sigma == Approx(0.05).epsilon(0.08));
    CHECK(fit.base_s == Approx(2).epsilon(0.01));
    CHECK(fit.drift_per_hour == 0);
  }
}

TEST_CASE("warm-up steps are left out and spikes are counted apart from jitter", "[straggler]") {
  std::vector<double> steps = series(300, 8, 0.01);
  for (const std::size_t at : {50U, 120U, 260U}) steps[at] = 3.5;
  steps.insert(steps.begin(), {300, 9});
  const SeriesFit fit = fit_step_series(steps, 8, "test");
  CHECK(fit.warm_up == 2);
  CHECK(fit.spikes == 3);
  CHECK(fit.rank_sigma == Approx(0.01).epsilon(0.15));
  // One spike in 100 steps of 2.03 s, on one of 8 ranks: each rank bursts once in 8 * 203 s.
  CHECK(fit.burst.every_s == Approx(8 * 100 * 2.03).epsilon(0.02));
  // What a burst loses is the excess of a spike: d (1 - 1/f) = 3.5 - 2.03.
  CHECK(fit.burst.duration_s * (1 - 1 / fit.burst.slowdown) == Approx(3.5 - 2.03).epsilon(0.02));
}

TEST_CASE("drift is found in hours and not in noise", "[straggler]") {
  std::vector<double> steps = series(600, 4, 0.005);
  // 10 % over 600 steps of 2 s (1200 s): 0.3 an hour.
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] *= 1 + 0.1 * static_cast<double>(i) / 600;
  CHECK(fit_step_series(steps, 4, "test").drift_per_hour == Approx(0.3).epsilon(0.15));
}

TEST_CASE("a handful of steps is refused", "[straggler]") {
  CHECK_THROWS_AS(fit_step_series({1, 1, 1}, 4, "short.csv"), InputError);
}
