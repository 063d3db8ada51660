#include <cmath>
#include <cstdlib>
#include <cstring>

#include "sim/import/chrome_json/chrome_json.hpp"

namespace stepcast::chrome_json {
bool nanoseconds_of(std::string_view text, Nanoseconds& out) {
  std::size_t at = 0;
  if (!text.empty() && text.front() == '"') ++at;
  const bool is_negative = at < text.size() && text[at] == '-';
  if (is_negative) ++at;
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
    if (digits >= 16) return false;  // beyond 300 years in microseconds
    value = value * 10 + (text[at] - '0');
  }
  if (digits == 0) return false;
  if (value > std::int64_t{9'000'000'000'000'000}) return false;
  value *= 1000;
  if (at < text.size() && text[at] == '.') {
    std::int64_t scale = 100;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      value += (text[at] - '0') * scale;
      scale /= 10;
    }
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {  // rare: 1.2e+15
    const std::string copy(text.front() == '"' ? text.substr(1) : text);
    const double us = std::strtod(copy.c_str(), nullptr);
    if (!std::isfinite(us) || std::abs(us) > 9e15) return false;
    out = std::llround(us * 1e3);
    return true;
  }
  out = is_negative ? -value : value;
  return true;
}

std::size_t behind_string(std::string_view s, std::size_t at) {
  for (++at; at < s.size(); ++at) {
    if (s[at] == '\\')
      ++at;
    else if (s[at] == '"')
      return at + 1;
  }
  return s.size();
}

std::string_view token_at(std::string_view s, std::size_t at) {
  std::size_t end = at, level = 0;
  while (end < s.size()) {
    const char c = s[end];
    if (c == '"') {
      end = behind_string(s, end);
      continue;
    }
    if (c == '{' || c == '[')
      ++level;
    else if (c == '}' || c == ']') {
      if (level == 0) break;
      --level;
    } else if (c == ',' && level == 0)
      break;
    ++end;
  }
  while (end > at && is_space(s[end - 1])) --end;
  return s.substr(at, end - at);
}

std::string_view value_of(std::string_view object, std::string_view key) {
  // Most keys are absent from most objects: look for the bytes first, walk the levels only on a
  // hit.
  for (std::size_t hit = object.find(key); hit != std::string_view::npos;
       hit = object.find(key, hit + 1)) {
    if (hit == 0 || object[hit - 1] != '"' || hit + key.size() >= object.size() ||
        object[hit + key.size()] != '"')
      continue;
    std::size_t depth = 0, at = 0;
    bool is_key = false;
    while (at < hit) {
      const char c = object[at];
      if (c == '"') {
        if (at == hit - 1) {
          is_key = depth == 1;
          break;
        }
        at = behind_string(object, at);
        continue;
      }
      if (c == '{' || c == '[')
        ++depth;
      else if ((c == '}' || c == ']') && depth > 0)
        --depth;
      ++at;
    }
    if (!is_key) continue;
    at = hit + key.size() + 1;
    while (at < object.size() && is_space(object[at])) ++at;
    if (at >= object.size() || object[at] != ':') continue;  // a value that equals the key
    ++at;
    while (at < object.size() && is_space(object[at])) ++at;
    if (at >= object.size()) return {};
    if (object[at] == '"') {
      const std::size_t end = behind_string(object, at);
      return object.substr(at + 1, end - at - 2 < object.size() ? end - at - 2 : 0);
    }
    return token_at(object, at);
  }
  return {};
}

std::string unescaped(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    switch (c) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u': {
        if (i + 4 >= raw.size()) break;
        const std::string digits(raw.substr(i + 1, 4));
        const auto code = static_cast<unsigned>(std::strtoul(digits.c_str(), nullptr, 16));
        i += 4;
        if (code < 0x80)
          out += static_cast<char>(code);
        else if (code < 0x800)
          out += {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
        else
          out += {static_cast<char>(0xE0 | (code >> 12)),
                  static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
                  static_cast<char>(0x80 | (code & 0x3F))};
        break;
      }
      default:
        out += c;
    }
  }
  return out;
}
}  // namespace stepcast::chrome_json
