#include "sim/core/result.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("a problem reads file, place, finding and hint", "[result]") {
  REQUIRE(text_of(Problem{"jobs/tiny.json", "/parallel/tp", "3 does not divide heads (32)",
                          "try 1, 2, 4"}) ==
          "jobs/tiny.json /parallel/tp: 3 does not divide heads (32); try 1, 2, 4");
}
TEST_CASE("the nearest name is found over one typing slip and refused over many", "[result]") {
  REQUIRE(nearest_name("micro_bacth", {"micro_batch", "global_batch"}) == "micro_batch");
  REQUIRE(nearest_name("xyz", {"micro_batch", "global_batch"}).empty());
}
TEST_CASE("a failed result throws all its problems when its value is taken", "[result]") {
  Problems problems;
  problems.add({"a", "/x", "m1", ""});
  problems.add({"a", "/y", "m2", ""});
  REQUIRE_THROWS_WITH(Result<int>(problems).value_or_throw(), "a /x: m1\na /y: m2");
  REQUIRE(Result<int>(7).value_or_throw() == 7);
}
