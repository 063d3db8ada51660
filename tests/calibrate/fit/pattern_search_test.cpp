#include "calibrate/fit/pattern_search.hpp"

#include <cmath>

#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("pattern search finds the least of a separable loss and stays in range", "[fit]") {
  // |log(x / 3)| + |log(y / 50)| with y held to at most 20.
  const auto found =
      pattern_search({{1, 0.1, 100}, {1, 0.1, 20}}, [](const std::vector<double>& p) {
        return std::fabs(std::log(p[0] / 3)) + std::fabs(std::log(p[1] / 50));
      });
  REQUIRE(found[0] == Approx(3).epsilon(0.02));
  REQUIRE(found[1] == Approx(20));
}
