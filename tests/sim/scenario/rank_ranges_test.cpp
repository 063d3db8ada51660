#include "sim/scenario/rank_ranges.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;
using Ranges = std::vector<std::pair<int, int>>;

TEST_CASE("ranks are named one by one or as ranges or all at once", "[scenario]") {
  CHECK(rank_ranges_of("17", 32).ranges == Ranges{{17, 17}});
  CHECK(rank_ranges_of("0-7,12", 32).ranges == Ranges{{0, 7}, {12, 12}});
  CHECK(rank_ranges_of("*", 32).ranges.empty());
  CHECK(rank_ranges_of("*", 32).faults.empty());
}

TEST_CASE("every fault in a list of ranks is named", "[scenario]") {
  const auto result = rank_ranges_of("7-3,x,,1-,31-32,99999999999", 32);
  CHECK(result.ranges.empty());
  CHECK(result.faults == std::vector<std::string>{"the range 7-3 falls",
                                                  "\"x\" is neither a rank nor a range",
                                                  "\"\" is neither a rank nor a range",
                                                  "\"1-\" is neither a rank nor a range",
                                                  "rank 32 does not exist; ranks are 0 to 31",
                                                  "\"99999999999\" is neither a rank nor a range"});
}
