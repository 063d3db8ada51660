#include "sim/io/json.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::string problem_of(const std::string& text) {
  const auto parsed = parse_json(text, "s.json");
  return parsed ? "" : parsed.problems().text();
}
}  // namespace

TEST_CASE("comments are allowed and key order is kept", "[json]") {
  const auto parsed = parse_json("{ // first\n \"b\": 1, /* second */ \"a\": 2 }", "s.json");
  REQUIRE(parsed);
  REQUIRE(parsed->dump() == R"({"b":1,"a":2})");
}
TEST_CASE("broken JSON is answered with file, line and column", "[json]") {
  REQUIRE(problem_of("{\n \"a\": 1,\n").rfind("s.json line 3 column ", 0) == 0);
  REQUIRE(problem_of("   ") == "s.json: is empty; a JSON document is expected");
  REQUIRE(problem_of("{\"a\": 1, \"a\": 2}") ==
          "s.json: the key \"a\" stands twice in one object; keep one of them");
  REQUIRE(problem_of("{\"a\": \"\xff\"}") ==
          "s.json line 1 column 8: byte 0xff is not valid UTF-8; save the file as UTF-8");
  REQUIRE(problem_of(std::string(100000, '[')).find("nests deeper than 64") ==
          std::string::npos);  // truncated: a syntax error
  REQUIRE(!problem_of(std::string(100, '[') + std::string(100, ']')).empty());
}
TEST_CASE("a setting replaces a value, creates objects and refuses to go through a scalar",
          "[json]") {
  Json document = parse_json(R"({"cluster": {"nodes": 4}, "stragglers": [{"ranks": "1"}]})", "s")
                      .value_or_throw();
  REQUIRE(apply_setting(document, "/cluster/nodes=64"));
  REQUIRE(apply_setting(document, "/parallel/tp=8"));
  REQUIRE(apply_setting(document, "/stragglers/0/ranks=17"));
  REQUIRE(apply_setting(document, "/model/preset=gpt3-175b"));
  REQUIRE(
      document.dump() ==
      R"({"cluster":{"nodes":64},"stragglers":[{"ranks":17}],"parallel":{"tp":8},"model":{"preset":"gpt3-175b"}})");
  REQUIRE_FALSE(apply_setting(document, "/cluster/nodes/x=1"));
  REQUIRE_FALSE(apply_setting(document, "cluster=1"));
  REQUIRE_FALSE(apply_setting(document, "/stragglers/5/ranks=1"));
}
