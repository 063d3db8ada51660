#include "sim/core/expected_maximum.hpp"

#include <cmath>

#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("the larger of two lognormal variables has the closed form 2 Phi(sigma / sqrt 2)",
          "[core]") {
  // E max(X, Y) of independent lognormals with mean 1: 2 Phi(sigma / sqrt(2)) (Black-Scholes
  // exchange option at par).
  for (const double sigma : {0.01, 0.1, 0.5, 1.0})
    CHECK(expected_maximum_lognormal(2, sigma) == Approx(1 + std::erf(sigma / 2)).epsilon(1e-8));
}

TEST_CASE("one rank has mean 1 and no jitter no maximum", "[core]") {
  CHECK(expected_maximum_lognormal(1, 0.4) == Approx(1).epsilon(1e-8));
  CHECK(expected_maximum_lognormal(1000, 0) == 1);
}

TEST_CASE("the maximum of one variable varies as the variable does", "[core]") {
  // variance of a lognormal with mean 1: exp(sigma^2) - 1
  CHECK(deviation_of_maximum_lognormal(1, 0.2) ==
        Approx(std::sqrt(std::expm1(0.04))).epsilon(1e-6));
}
