#include "sim/profile/kernel_profile.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("a factor curve is linear in the logarithm of its feature", "[profile]") {
  const FactorCurve curve{"sustained/gemm", "flops", {{1e10, 1.0}, {1e12, 1.2}}, "test"};
  // 1e11 lies half way between 1e10 and 1e12 in the logarithm: (1.0 + 1.2) / 2
  REQUIRE(curve.at(1e11) == Approx(1.1));
  REQUIRE(curve.at(1e12) == Approx(1.2));
}

TEST_CASE("a factor curve holds its edges", "[profile]") {
  const FactorCurve curve{"sustained/gemm", "flops", {{1e10, 1.05}, {1e12, 1.2}}, "test"};
  REQUIRE(curve.at(1) == Approx(1.05));
  REQUIRE(curve.at(0) == Approx(1.05));
  REQUIRE(curve.at(1e20) == Approx(1.2));
}

TEST_CASE("a factor curve without points is neutral", "[profile]") {
  REQUIRE(FactorCurve{"x", "flops", {}, ""}.at(5) == 1.0);
}
