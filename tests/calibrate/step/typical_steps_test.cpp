#include "calibrate/step/typical_steps.hpp"

#include "tests/support/test.hpp"

namespace stepcast::calibrate::test {

TEST_CASE("ops of the middle half of the steps add up to the median step", "[calibrate]") {
  // Ops a and b, and the whole. The slow step has another a, the fast one another b; of four steps
  // one is cut at each end: a = (2 + 2) / 2, b = (3 + 4) / 2.
  const std::vector<std::vector<double>> steps{{9, 3, 12}, {2, 3, 5}, {2, 1, 3}, {2, 4, 6}};
  const std::vector<std::size_t> typical = typical_steps(steps);
  REQUIRE(typical == std::vector<std::size_t>{1, 3});
  REQUIRE(summary_of_columns(steps, {0}, typical).trimmed_mean_s == Approx(2));
  REQUIRE(summary_of_columns(steps, {1}, typical).trimmed_mean_s == Approx(3.5));
  // A kernel that a step runs twice counts with both.
  const Summary both = summary_of_columns(steps, {0, 1}, typical);
  REQUIRE(both.trimmed_mean_s == Approx(2.75));
  REQUIRE(both.n == 8);
}
}  // namespace stepcast::calibrate::test
