#include <unistd.h>

#include <filesystem>

#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "tests/sim/validate/support.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::string folder_with(const std::string& name, const std::string& set) {
  const std::string folder = (std::filesystem::temp_directory_path() /
                              ("stepcast_assumptions_" + std::to_string(getpid()) + "_" + name))
                                 .string();
  std::filesystem::remove_all(folder);
  write_file(folder + "/default.json", "{}");
  write_file(folder + "/common.json",
             R"({"rules": [{"when": {"gpu": "^A"}, "set": {"a": 1, "b": {"c": 1}}}]})");
  write_file(folder + "/mine.json", set);
  return folder;
}
}  // namespace

TEST_CASE("rules patch the base in order and fill only empty cells", "[validate]") {
  const auto book = read_assumptions(folder_with("order", R"({
    "tables": ["x"], "assumptions": ["stated"], "scenario": {"b": {"c": 2}},
    "rules": [
      { "when": { "kind": "FULL" }, "set": { "b": { "d": 3 } }, "fill": { "mbs": 4, "gbs": 7 }, "because": "why" },
      { "when": { "kind": "none" }, "set": { "b": { "c": 9 } } },
      { "when": { "mbs": "^4$" }, "set": { "late": true } } ]})"))
                        .value_or_throw();
  const CsvTable table = test::table_of("gpu,kind,mbs,gbs\nA100,full,,8\n");
  const AssumptionSet& set = book.set_for("x");
  const AssumedRow assumed = assume(book, set, TableRow(table, 0));
  // common gives a = 1 and b.c = 1; the base overrides b.c; the first rule adds b.d and fills mbs,
  // which the last sees.
  REQUIRE(Json::parse(assumed.scenario) ==
          Json::parse(R"({"a": 1, "b": {"c": 2, "d": 3}, "late": true})"));
  REQUIRE(assumed.row.text("mbs") == "4");
  REQUIRE(assumed.row.text("gbs") == "8");
  REQUIRE(statements_of(set) == std::vector<std::string>{"stated", "why"});
  REQUIRE(book.set_for("unheard of").name == "default");
}

TEST_CASE("a rule that picks a row by its id or by the answer is refused", "[validate]") {
  for (const char* column : {"row_id", "case", "log_id", "step_time_s"}) {
    const auto book =
        read_assumptions(folder_with("row", R"({"tables": ["x"], "rules": [{"when": {")" +
                                                std::string(column) + R"(": "7"}, "set": {}}]})"));
    REQUIRE_FALSE(book);
    REQUIRE(book.problems().text().find("assumptions hold for a whole table") != std::string::npos);
  }
}

TEST_CASE("a bad pattern and an unknown key are both reported", "[validate]") {
  const auto book = read_assumptions(
      folder_with("bad", R"({"tables": ["x"], "ruels": [], "rules": [{"when": {"a": "("}}]})"));
  REQUIRE_FALSE(book);
  REQUIRE(book.problems().size() == 2);
}

TEST_CASE("the shipped assumptions are sound and every set says what it assumes", "[validate]") {
  const AssumptionBook book = test::shipped_book();
  REQUIRE(book.sets.size() > 10);
  REQUIRE(book.sets.back().name == "default");
  for (const AssumptionSet& set : book.sets) {
    INFO(set.name);
    REQUIRE_FALSE(set.statements.empty());
    REQUIRE((set.name == "default" || !set.tables.empty()));
  }
}
