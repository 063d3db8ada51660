#include "sim/cli/grid.hpp"

#include <charconv>
#include <optional>

#include "sim/core/result.hpp"

namespace stepcast {
namespace {
[[noreturn]] void refuse(const std::string& text, const std::string& message,
                         const std::string& hint = "") {
  throw InputError(Problem{"--vary", text.substr(0, 80), message, hint});
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "1..8" or "1..1024*2"; nullopt where the text is no range.
std::optional<std::vector<std::string>> range_values(const std::string& whole,
                                                     const std::string& text) {
  const auto dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const auto star = text.find('*', dots);
  const auto first = whole_number(std::string_view(text).substr(0, dots));
  const auto last = whole_number(
      std::string_view(text).substr(dots + 2, star == std::string::npos ? star : star - dots - 2));
  const auto factor = star == std::string::npos
                          ? std::optional<std::int64_t>(1)
                          : whole_number(std::string_view(text).substr(star + 1));
  if (!first || !last) return std::nullopt;  // a text with dots in it
  if (!factor || (star != std::string::npos && *factor < 2))
    refuse(whole, "the factor of a range is a whole number from 2");
  if (*last < *first || (star != std::string::npos && *first < 1))
    refuse(whole, "the range rises to its end and, with a factor, starts at 1 or more");
  std::vector<std::string> values;
  for (std::int64_t v = *first; v <= *last && values.size() <= kLargestGrid;
       v = star == std::string::npos ? v + 1 : v * *factor) {
    values.push_back(std::to_string(v));
    if (v > (std::int64_t{1} << 50)) break;
  }
  return values;
}

std::vector<std::string> split_at_top_level(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c == '[' || c == '{')) ++depth;
    if (!is_quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth <= 0 && !is_quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}
}  // namespace

Variation variation_of(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || text[0] != '/')
    refuse(text, "is not of the form /json/pointer=a,b,c",
           "for example --vary /cluster/nodes=1,2,4");
  Variation v{text.substr(0, equals), {}};
  for (const std::string& part : split_at_top_level(text.substr(equals + 1))) {
    if (part.empty()) refuse(text, "has an empty value");
    if (const auto range = range_values(text, part))
      v.values.insert(v.values.end(), range->begin(), range->end());
    else
      v.values.push_back(part);
  }
  return v;
}

std::vector<GridPoint> grid_of(const std::vector<Variation>& variations) {
  std::vector<GridPoint> points{{}};
  for (const Variation& v : variations) {
    if (points.size() * v.values.size() > kLargestGrid)
      refuse(v.pointer, "the grid has more than " + std::to_string(kLargestGrid) + " points");
    std::vector<GridPoint> longer;
    longer.reserve(points.size() * v.values.size());
    for (const GridPoint& point : points)
      for (const std::string& value : v.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    points = std::move(longer);
  }
  return points;
}

std::vector<std::string> settings_of(const std::vector<Variation>& variations,
                                     const GridPoint& point) {
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < variations.size(); ++i)
    settings.push_back(variations[i].pointer + "=" + point[i]);
  return settings;
}
}  // namespace stepcast
