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
TEST_CASE("a byte order mark and other ways to part lines and cells are read", "[csv]") {
  for (const char* text :
       {"\xef\xbb\xbf"
        "id,step\nx,1.5\n",
        "id, step \r\nx, 1.5\r\n", "id,step\rx,1.5\r", "id;step\nx;1.5\n", "id\tstep\nx\t1.5\n"}) {
    INFO(text);
    const auto table = CsvTable::parse(text, "t.csv");
    REQUIRE(table);
    REQUIRE(table->rows() == 1);
    CHECK(table->text(0, "id") == "x");
    CHECK(table->number(0, "step") == 1.5);
  }
}
TEST_CASE("a column named twice is refused", "[csv]") {
  const auto table = CsvTable::parse("a,b,a\n1,2,3\n", "t.csv");
  REQUIRE_FALSE(table);
  CHECK(table.problems().text() == "t.csv line 1: names the column \"a\" twice");
}
