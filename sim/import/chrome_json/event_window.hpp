#pragma once
#include <simdjson.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/import/chrome_json/chrome_json.hpp"

/// A stretch of the event array between two cuts, and its parse. Only chrome_json.cpp uses it.
namespace stepcast::chrome_json {

/// Where a parse of `[ event, event ...` stopped.
struct WindowResult {
  std::int64_t events = 0, damaged = 0, repaired = 0;
  std::size_t consumed = 0;      // bytes of the window that are done with, separators included
  bool is_array_closed = false;  // the closing ] was met; `consumed` points behind it
  std::vector<std::size_t> damaged_at;  // the first few, in the window
};

class WindowParser {
 public:
  explicit WindowParser(const Sink& sink) : sink_(sink) {}
  /// `data[0, size)` holds whole events separated by commas, then possibly the end of the array and
  /// what follows it. data[-1] and data[size] are free to be written, and SIMDJSON_PADDING bytes
  /// behind are readable. is_last: nothing follows, so an event without its end is damage;
  /// otherwise it is left unconsumed. `offset`: of data[0] in the file, for the events' own.
  WindowResult parse(char* data, std::size_t size, bool is_last, std::uint64_t offset = 0);

 private:
  bool take(simdjson::ondemand::object object, std::uint64_t offset);
  /// Byte by byte, string-aware; each event parsed alone. `skip` events at the front were delivered
  /// already.
  WindowResult parse_carefully(char* data, std::size_t size, bool is_last, std::int64_t skip);
  bool take_alone(std::string_view event, std::uint64_t offset, bool& is_repaired);
  const Sink& sink_;
  std::uint64_t offset_ = 0;
  int open_lists_ = 0;  // lists among the events whose end has not come
  simdjson::ondemand::parser parser_, single_parser_;
  std::vector<char> single_;
};

/// Last place behind an event where another one starts: `}` here, then `,` `{` `"`. npos when there
/// is none. In a JSON string the quote would end the string, in a nested list the cut leaves
/// brackets open: the parse tells.
std::size_t last_cut(const char* data, std::size_t size);
}  // namespace stepcast::chrome_json
