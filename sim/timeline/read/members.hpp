#pragma once
#include <string_view>

#include "sim/import/chrome_json/chrome_json.hpp"

namespace stepcast::trace {
/// Calls take(key, value) for each member of a raw JSON object, outermost level only; both as raw
/// text (strings without quotes). `is_text` tells a string from a token. Damage ends the walk.
template <class Take>
void for_each_member(std::string_view object, Take&& take) {
  const auto skip_spaces = [&](std::size_t at) {
    while (at < object.size() && chrome_json::is_space(object[at])) ++at;
    return at;
  };
  std::size_t at = object.find('{');
  if (at == std::string_view::npos) return;
  ++at;
  for (;;) {
    while (at < object.size() && (chrome_json::is_space(object[at]) || object[at] == ',')) ++at;
    if (at >= object.size() || object[at] != '"') return;
    const std::size_t key_end = chrome_json::behind_string(object, at);
    if (key_end == object.size())
      return;  // at least the closing bracket stands behind a whole string
    const std::string_view key = object.substr(at + 1, key_end - at - 2);
    at = skip_spaces(key_end);
    if (at >= object.size() || object[at] != ':') return;
    at = skip_spaces(at + 1);
    if (at >= object.size()) return;
    if (object[at] == '"') {
      const std::size_t end = chrome_json::behind_string(object, at);
      if (end == object.size()) return;
      take(key, object.substr(at + 1, end - at - 2), true);
      at = end;
      continue;
    }
    const std::string_view token = chrome_json::token_at(object, at);
    take(key, token, false);
    at += token.size();
  }
}
}  // namespace stepcast::trace
