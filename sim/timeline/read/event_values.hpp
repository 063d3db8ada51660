#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/core/units.hpp"
#include "sim/import/chrome_json/chrome_json.hpp"

/// Raw values of an event as plain text and numbers, and the times an event may lie at.
namespace stepcast::trace {
/// Nanoseconds an event may lie at: years 1954 to 2052 as Unix time, with room below 2^63 for a
/// length of 15 years, a time base and the offset between two clocks, so that no sum of them
/// overflows.
inline constexpr Nanoseconds kEarliest = -500'000'000'000'000'000,
                             kLatest = 2'600'000'000'000'000'000,
                             kLongest = 500'000'000'000'000'000;
inline std::string plain(std::string_view raw) { return chrome_json::unescaped(raw); }
/// A number, also where the writer put it in quotes.
inline bool number_of(std::string_view text, double& out) {
  if (text == "true" || text == "false") {
    out = text == "true" ? 1 : 0;
    return true;
  }
  const std::string copy(text);
  char* end = nullptr;
  out = std::strtod(copy.c_str(), &end);
  return !copy.empty() && end == copy.c_str() + copy.size() && std::isfinite(out);
}
inline std::int64_t integer_of(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty() ? value
                                                                                   : otherwise;
}
}  // namespace stepcast::trace
