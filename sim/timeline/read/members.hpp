#pragma once
#include <string_view>

namespace stepcast::trace {
/// Calls take(key, value) for each member of a raw JSON object, outermost level only; both as raw text (strings without quotes).
/// `is_text` tells a string from a token. Damage ends the walk.
template <class Take>
void for_each_member(std::string_view object, Take&& take) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  const auto behind_string = [&](std::size_t at) {
    for (++at; at < object.size(); ++at) {
      if (object[at] == '\\') ++at;
      else if (object[at] == '"') return at + 1;
    }
    return std::string_view::npos;
  };
  std::size_t at = object.find('{');
  if (at == std::string_view::npos) return;
  ++at;
  for (;;) {
    while (at < object.size() && (is_space(object[at]) || object[at] == ',')) ++at;
    if (at >= object.size() || object[at] != '"') return;
    const std::size_t key_end = behind_string(at);
    if (key_end == std::string_view::npos) return;
    const std::string_view key = object.substr(at + 1, key_end - at - 2);
    at = key_end;
    while (at < object.size() && is_space(object[at])) ++at;
    if (at >= object.size() || object[at] != ':') return;
    ++at;
    while (at < object.size() && is_space(object[at])) ++at;
    if (at >= object.size()) return;
    if (object[at] == '"') {
      const std::size_t end = behind_string(at);
      if (end == std::string_view::npos) return;
      take(key, object.substr(at + 1, end - at - 2), true);
      at = end;
      continue;
    }
    std::size_t end = at, level = 0;
    while (end < object.size()) {
      const char c = object[end];
      if (c == '"') {
        end = behind_string(end);
        if (end == std::string_view::npos) return;
        continue;
      }
      if (c == '{' || c == '[') ++level;
      else if (c == '}' || c == ']') {
        if (level == 0) break;
        --level;
      } else if (c == ',' && level == 0) break;
      ++end;
    }
    std::size_t last = end;
    while (last > at && is_space(object[last - 1])) --last;
    take(key, object.substr(at, last - at), false);
    at = end;
  }
}
}  // namespace stepcast::trace
