#include "sim/core/units.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::literals;

TEST_CASE("bytes over bytes per second are seconds", "[units]") {
  REQUIRE(8_GB / 4_GBps == 2_s);
  REQUIRE(scaled(1_MiB, 1.5) == Bytes(1572864));
}
TEST_CASE("seconds round to the nearest nanosecond", "[units]") {
  REQUIRE(ns_from_seconds(Seconds(1.4e-9)) == 1);
  REQUIRE(ns_from_seconds(Seconds(1.6e-9)) == 2);
  REQUIRE(seconds_from_ns(2'000'000'000) == 2_s);
}
