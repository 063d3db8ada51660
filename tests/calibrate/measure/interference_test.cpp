#include "calibrate/measure/interference.hpp"

#include "tests/support/test.hpp"

namespace stepcast::calibrate::test {

TEST_CASE("messages that end inside the computation cost it what it lost meanwhile",
          "[calibrate]") {
  // Beside each other for 4 s. Compute takes 13 s in place of 10: in those 4 s it got 1 s of its
  // work done, a factor of 4. The messages take 4 s in place of 3.
  const Interference found =
      interference_of({.compute_alone = 10, .side_alone = 3, .compute = 13, .side = 4});
  REQUIRE(found.compute == Approx(4));
  REQUIRE(found.side == Approx(4.0 / 3));
}
TEST_CASE("messages that outlast the computation go at full speed behind it", "[calibrate]") {
  // Beside each other for 6 s, in which compute does its 4: 1.5. The messages take 11 s in place of
  // 10: 5 of their 10 s behind the computation, so 5 in the 6 beside it.
  const Interference found =
      interference_of({.compute_alone = 4, .side_alone = 10, .compute = 6, .side = 11});
  REQUIRE(found.compute == Approx(1.5));
  REQUIRE(found.side == Approx(1.2));
}
TEST_CASE("interference is neither a gain nor without bound", "[calibrate]") {
  const Interference faster =
      interference_of({.compute_alone = 10, .side_alone = 3, .compute = 9.5, .side = 2.9});
  REQUIRE(faster.compute == 1);
  REQUIRE(faster.side == 1);
  REQUIRE(
      interference_of({.compute_alone = 10, .side_alone = 3, .compute = 15, .side = 3}).compute ==
      Approx(kLargestSlowdown));
  REQUIRE(interference_of({}).compute == 1);
}
TEST_CASE("side work charged at its time alone takes what compute lost per second of it",
          "[calibrate]") {
  // 3 s of kernels cost compute 2 s, though they stand beside it for 4: of each second a third is
  // left, a factor of 3. A core that two threads share is lost whole: the bound.
  REQUIRE(slowdown_by_charged_work(
              {.compute_alone = 10, .side_alone = 3, .compute = 12, .side = 4}) == Approx(3));
  REQUIRE(
      slowdown_by_charged_work({.compute_alone = 10, .side_alone = 3, .compute = 13, .side = 6}) ==
      Approx(kLargestSlowdown));
}
}  // namespace stepcast::calibrate::test
