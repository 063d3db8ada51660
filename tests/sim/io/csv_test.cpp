#include "sim/io/csv.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("quoted cells keep commas, quotes and line breaks and empty cells are unknown", "[csv]") {
  const auto table = CsvTable::parse("a,b,c\n\"x, \"\"y\"\"\",1.5,\n\"two\nlines\",,7\n", "t.csv");
  REQUIRE(table);
  REQUIRE(table->rows() == 2);
  REQUIRE(table->text(0, "a") == "x, \"y\"");
  REQUIRE(table->number(0, "b") == 1.5);
  REQUIRE_FALSE(table->number(0, "c"));
  REQUIRE(table->text(1, "a") == "two\nlines");
  REQUIRE(table->line_of(1) == 3);
  REQUIRE_FALSE(table->number(1, "missing column"));
}
TEST_CASE("a short row is named by its line", "[csv]") {
  const auto table = CsvTable::parse("a,b\n1,2\n3\n", "t.csv");
  REQUIRE_FALSE(table);
  REQUIRE(table.problems().text() == "t.csv line 3: has 1 cells, the header has 2");
}
