#include "sim/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/io/files.hpp"

namespace stepcast {
namespace {

constexpr int kMaxDepth =
    64;  // deeper than any format of ours; keeps recursion in destructors shallow

struct LineColumn {
  std::size_t line = 1, column = 1;
};
LineColumn line_column(const std::string& text, std::size_t byte) {
  LineColumn at;
  for (std::size_t i = 0; i < byte && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++at.line;
      at.column = 1;
    } else {
      ++at.column;
    }
  }
  return at;
}

// Byte offset of the first invalid UTF-8 sequence, or npos. (Table 3-7 of the Unicode standard.)
std::size_t invalid_utf8_at(const std::string& s) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(i < s.size() ? s[i] : 0);
  };
  for (std::size_t i = 0; i < s.size();) {
    const unsigned char b = byte(i);
    std::size_t tail = 0;
    unsigned char low = 0x80, high = 0xBF;
    if (b < 0x80) {
      ++i;
      continue;
    }
    if (b >= 0xC2 && b <= 0xDF)
      tail = 1;
    else if (b >= 0xE0 && b <= 0xEF) {
      tail = 2;
      if (b == 0xE0) low = 0xA0;
      if (b == 0xED) high = 0x9F;
    } else if (b >= 0xF0 && b <= 0xF4) {
      tail = 3;
      if (b == 0xF0) low = 0x90;
      if (b == 0xF4) high = 0x8F;
    } else
      return i;
    if (byte(i + 1) < low || byte(i + 1) > high) return i;
    for (std::size_t t = 2; t <= tail; ++t)
      if (byte(i + t) < 0x80 || byte(i + t) > 0xBF) return i;
    i += tail + 1;
  }
  return std::string::npos;
}

/// The number that the parser found too large, cut out of its "number overflow parsing '1e999'", or
/// "".
std::string overflowing_number(const std::string& what) {
  const auto open = what.find('\''), close = what.rfind('\'');
  return open == std::string::npos || close <= open ? "" : what.substr(open + 1, close - open - 1);
}

// Message of a parser exception without the library's own prefix.
std::string plain_message(std::string what) {
  const auto colon = what.find(": syntax error");
  if (colon != std::string::npos) what = what.substr(colon + 2);
  for (char& c : what)
    if (c == '\n' || c == '\r') c = ' ';
  if (what.size() > 200) what.resize(200);
  return what;
}
}  // namespace

Result<Json> parse_json(const std::string& text, const std::string& file_name) {
  Problems problems;
  const auto fail = [&](std::string place, std::string message, std::string hint = "") {
    problems.add({file_name, std::move(place), std::move(message), std::move(hint)});
    return problems;
  };
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return fail("", "is empty; a JSON document is expected");
  if (const auto bad = invalid_utf8_at(text); bad != std::string::npos) {
    const auto at = line_column(text, bad);
    return fail(
        fmt::format("line {} column {}", at.line, at.column),
        fmt::format("byte 0x{:02x} is not valid UTF-8", static_cast<unsigned char>(text[bad])),
        "save the file as UTF-8");
  }
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) {
      too_deep = true;
      return false;
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && duplicate.empty() && !keys.empty() &&
        !keys.back().insert(parsed.get<std::string>()).second)
      duplicate = parsed.get<std::string>();
    return true;
  };
  try {
    Json document = Json::parse(text, watch, true, /*ignore_comments=*/true);
    if (too_deep) return fail("", fmt::format("nests deeper than {} levels", kMaxDepth));
    if (!duplicate.empty())
      return fail("", "the key \"" + duplicate + "\" stands twice in one object",
                  "keep one of them");
    return document;
  } catch (const nlohmann::json::parse_error& e) {
    const auto at = line_column(text, e.byte > 0 ? e.byte - 1 : 0);
    return fail(fmt::format("line {} column {}", at.line, at.column), plain_message(e.what()));
  } catch (const nlohmann::json::out_of_range& e) {
    const std::string number = overflowing_number(e.what());
    const auto at = line_column(text, std::min(text.find(number), text.size()));
    return fail(fmt::format("line {} column {}", at.line, at.column),
                number.substr(0, 40) + " is beyond any number here", "the largest is 1.8e308");
  } catch (const nlohmann::json::exception& e) {
    return fail("", plain_message(e.what()));
  }
}

Result<Json> read_json_file(const std::string& path, int limit_MiB) {
  auto text = read_file(path, static_cast<std::int64_t>(limit_MiB) << 20);
  if (!text) return text.problems();
  return parse_json(*text, path);
}

void merge_json(Json& base, const Json& patch) {
  if (!base.is_object() || !patch.is_object()) {
    base = patch;
    return;
  }
  for (const auto& [key, value] : patch.items()) {
    if (base.contains(key))
      merge_json(base[key], value);
    else
      base[key] = value;
  }
}

Result<bool> apply_setting(Json& document, const std::string& setting) {
  Problems problems;
  const auto fail = [&](std::string message, std::string hint = "") {
    problems.add({"--set", setting, std::move(message), std::move(hint)});
    return problems;
  };
  const auto equals = setting.find('=');
  if (equals == std::string::npos || setting.empty() || setting[0] != '/')
    return fail("is not of the form /json/pointer=value", "for example --set /cluster/nodes=64");
  const std::string pointer = setting.substr(0, equals);
  const std::string text = setting.substr(equals + 1);
  if (text.empty()) return fail("has no value after '='");
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) value = text;
  Json* node = &document;
  std::size_t begin = 1;
  while (begin <= pointer.size()) {
    const auto slash = std::min(pointer.find('/', begin), pointer.size());
    std::string key = pointer.substr(begin, slash - begin);
    begin = slash + 1;
    if (key.empty()) return fail("has an empty key");
    if (node->is_null()) *node = Json::object();
    if (node->is_array()) {
      const bool is_index =
          key.size() < 7 && key.find_first_not_of("0123456789") == std::string::npos;
      if (!is_index || std::stoul(key) >= node->size())
        return fail(fmt::format("'{}' is not an index into an array of {}", key, node->size()));
      node = &(*node)[std::stoul(key)];
    } else if (node->is_object()) {
      node = &(*node)[key];
    } else {
      return fail("'" + key + "' goes through a value that is no object");
    }
  }
  *node = std::move(value);
  return true;
}
}  // namespace stepcast
