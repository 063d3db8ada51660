#include <fmt/format.h>

#include <charconv>
#include <concepts>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <variant>

// The stand-in beside the real one, under another name.
#define fmt fmt_stand_in
#include "cmake/stand_in/fmt/fmt/format.h"
#undef fmt

#include "tests/support/test.hpp"

namespace {
template <class... Values>
void require_same(const char* text, const Values&... values) {
  INFO(text);
  REQUIRE(fmt_stand_in::format(text, values...) == fmt::format(fmt::runtime(text), values...));
}
}  // namespace

TEST_CASE("the stand-in formats numbers as fmt does", "[stand_in]") {
  for (const double value : {0.0, 1.0, -1.5, 0.1, 1e-4, 1.234e-5, 1e-300, 100000.0, 1e15,
                             123456789e9, 1e16, 2.5e300, std::numeric_limits<double>::infinity()})
    for (const char* text : {"{}", "{:g}", "{:.0f}", "{:.1f}", "{:.2g}", "{:.4g}", "{:.0e}",
                             "{:>12.3f}|", "{:08.2f}", "{:<9.3g}|"})
      require_same(text, value);
  require_same("{}", 0.1f);
  for (const int value : {0, 7, -7, 123456, std::numeric_limits<int>::min()})
    for (const char* text : {"{}", "{:02}", "{:03}", "{:>5}", "{:<5}|", "{:05d}", "{:^9}|"})
      require_same(text, value);
  require_same("{:02x} {:04x}", 10u, 48879u);
  require_same("{}", std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("the stand-in formats text and places and braces as fmt does", "[stand_in]") {
  require_same("plain");
  require_same("{{}} {{{}}}", 5);
  require_same("{1} {0} {1}", "a", std::string("b"));
  require_same("{:<16}|{:>6}|{:*^7}|{:.2}", "device", std::string_view("x"), "mid", "long");
  require_same("{} {} {}", true, 'c', "text");
  std::string text = "a";
  fmt_stand_in::format_to(std::back_inserter(text), "{}", 1);
  REQUIRE(text == "a1");
}

TEST_CASE("the stand-in refuses what it cannot format", "[stand_in]") {
  REQUIRE_THROWS_AS(fmt_stand_in::format("{:+}", 1), std::logic_error);
  REQUIRE_THROWS_AS(fmt_stand_in::format("{} {}", 1), std::logic_error);
  REQUIRE_THROWS_AS(fmt_stand_in::format("{", 1), std::logic_error);
}
