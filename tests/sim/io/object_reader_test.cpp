#include "sim/io/object_reader.hpp"

#include "sim/io/json.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("every problem of an object is reported, unknown keys with the nearest known one",
          "[json]") {
  const Json node = Json::parse(R"({"tp": 2.5, "pp": "8", "dp": -1, "micro_bacth": 1, "cp": 2})");
  Problems problems;
  ObjectReader reader(node, "s.json", "/parallel", problems);
  REQUIRE(reader.integer("tp", {.fallback = 1, .min = 1}) == 1);
  REQUIRE(reader.integer("pp", {.fallback = 1, .min = 1}) == 1);
  REQUIRE(reader.integer("dp", {.fallback = 1, .min = 1}) == 1);
  REQUIRE(reader.integer("cp", {.fallback = 1, .min = 1}) == 2);
  reader.integer("micro_batch", {.fallback = 1});
  reader.text("schedule");
  reader.done();
  REQUIRE(problems.text() ==
          "s.json /parallel/tp: found 2.5, expected a whole number\n"
          "s.json /parallel/pp: found \"8\", expected a number; units belong in the key name, the "
          "value is a bare number\n"
          "s.json /parallel/dp: -1 is outside 1 to 9007199254740992\n"
          "s.json /parallel/schedule: is missing; a string is expected\n"
          "s.json /parallel/micro_bacth: is not a known key; did you mean \"micro_batch\"?");
}
