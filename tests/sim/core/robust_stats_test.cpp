#include "sim/core/robust_stats.hpp"

#include <vector>

#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("quantiles interpolate linearly between order statistics", "[stats]") {
  const std::vector<double> values{4, 1, 3, 2};  // sorted 1 2 3 4: the median lies between 2 and 3
  REQUIRE(median(values) == 2.5);
  REQUIRE(quantile(values, 0.0) == 1);
  REQUIRE(quantile(values, 1.0) == 4);
}
TEST_CASE("rank correlation is one for any rising map and minus one for a falling one", "[stats]") {
  const std::vector<double> a{1, 2, 3, 4}, up{1, 8, 27, 64}, down{9, 7, 5, 3};
  REQUIRE(rank_correlation(a, up) == Approx(1));
  REQUIRE(rank_correlation(a, down) == Approx(-1));
}
