#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/timeline/filter/filter.hpp"

/// The parsed form of a filter. Only sim/timeline/filter uses it.
namespace stepcast::trace {
enum class Field : std::uint8_t {
  name,
  cat,
  category,
  stream,
  node,
  rank_name,
  dur,
  self,
  start,
  end,
  rank,
  depth,
  step,
  bytes
};
enum class FieldKind : std::uint8_t { text, time, count, bytes };
struct FieldInfo {
  Field field;
  const char* name;
  FieldKind kind;
};
const std::vector<FieldInfo>& filter_fields();

enum class TextTest : std::uint8_t { equal, contains, regex };
struct NumberRange {
  double low = 0, high = 0;
  bool is_low_open = false, is_high_open = false;
};

struct FilterNode {
  enum class Kind : std::uint8_t { all_of, any_of, none_of, text, number } kind = Kind::all_of;
  std::vector<std::shared_ptr<const FilterNode>> children;  // all_of, any_of, none_of (one child)
  Field field = Field::name;
  TextTest test = TextTest::contains;
  std::vector<std::string> texts;    // any of them; lower case for contains
  std::vector<NumberRange> numbers;  // any of them
};
bool holds(const std::vector<NumberRange>& ranges, double value);
std::string lower_case(std::string_view text);

struct FilterToken {
  enum class Kind : std::uint8_t { word, text, number, symbol, end } kind = Kind::end;
  std::string text;
  std::size_t position = 0, length = 0;
};
/// Throws FilterError.
std::vector<FilterToken> filter_tokens(std::string_view text);
}  // namespace stepcast::trace
