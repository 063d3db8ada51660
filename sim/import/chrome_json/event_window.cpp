#include "sim/import/chrome_json/event_window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stepcast::chrome_json {
namespace {
std::string_view trimmed(std::string_view token) {
  while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
  return token;
}
/// Raw token without quotes.
std::string_view text_in(std::string_view token) {
  token = trimmed(token);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"')
    return token.substr(1, token.size() - 2);
  return token;
}
/// The raw text of a value of any kind.
simdjson::error_code raw_of(simdjson::ondemand::value& value, std::string_view& out) {
  const auto error = simdjson::to_json_string(value).get(out);
  if (error == simdjson::SUCCESS) out = trimmed(out);
  return error;
}
constexpr std::size_t kKeptPlaces = 5;  // as many as Anomalies keeps
enum class Behind { event, other, unknown };
/// What follows a closing bracket: another event or another closing bracket, as behind a list among
/// the events, or something else, as behind the events' own. A stray opening bracket is thereby not
/// taken to end where the events do.
Behind behind_bracket(const char* data, std::size_t at, std::size_t size, bool is_last) {
  bool is_behind_comma = false;
  for (; at < size; ++at) {
    if (is_space(data[at])) continue;
    if (data[at] != ',' || is_behind_comma)
      return data[at] == ']' || (is_behind_comma && (data[at] == '{' || data[at] == '['))
                 ? Behind::event
                 : Behind::other;
    is_behind_comma = true;
  }
  return is_last ? Behind::other : Behind::unknown;
}
/// Behind the bracket that closes the one at `at`; npos where the data ends before.
std::size_t end_of_value(const char* data, std::size_t at, std::size_t size) {
  std::size_t depth = 0;
  for (; at < size; ++at) {
    if (data[at] == '"') {
      for (++at; at < size && data[at] != '"'; ++at)
        if (data[at] == '\\') ++at;
      if (at >= size) break;
    } else if (data[at] == '{' || data[at] == '[') {
      ++depth;
    } else if ((data[at] == '}' || data[at] == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}
}  // namespace

std::size_t last_cut(const char* data, std::size_t size) {
  // Walks backwards over: '"' ws '{' ws ',' ws '}'
  for (std::size_t at = size; at-- > 0;) {
    if (data[at] != '{') continue;
    std::size_t next = at + 1;
    while (next < size && is_space(data[next])) ++next;
    if (next >= size || data[next] != '"') continue;
    std::size_t before = at;
    while (before > 0 && is_space(data[before - 1])) --before;
    if (before == 0 || data[before - 1] != ',') continue;
    --before;
    while (before > 0 && is_space(data[before - 1])) --before;
    if (before > 0 && data[before - 1] == '}') return before;
  }
  return std::string_view::npos;
}

bool WindowParser::take(simdjson::ondemand::object object, std::uint64_t offset) {
  RawEvent event;
  event.offset = offset;
  for (auto field_or_error : object) {
    simdjson::ondemand::field field;
    if (std::move(field_or_error).get(field) != simdjson::SUCCESS) return false;
    const char* key = field.key().raw();
    simdjson::ondemand::value value = field.value();
    const auto is = [&](std::string_view name) {
      return std::memcmp(key, name.data(), name.size()) == 0 && key[name.size()] == '"';
    };
    // The first letter decides; keys are short and few.
    switch (key[0]) {
      case 'p':
        if (is("ph")) {
          const auto text = text_in(value.raw_json_token());
          event.phase = text.empty() ? '?' : text.front();
        } else if (is("pid")) {
          event.pid = text_in(value.raw_json_token());
        }
        break;
      case 'c':
        if (is("cat")) event.category = text_in(value.raw_json_token());
        break;
      case 'n':
        if (is("name")) event.name = text_in(value.raw_json_token());
        break;
      case 't':
        if (is("tid"))
          event.tid = text_in(value.raw_json_token());
        else if (is("ts"))
          event.has_start = nanoseconds_of(trimmed(value.raw_json_token()), event.start);
        break;
      case 'd':
        if (is("dur"))
          event.has_duration = nanoseconds_of(trimmed(value.raw_json_token()), event.duration);
        break;
      case 'i':
        if (is("id")) {
          event.id = text_in(value.raw_json_token());
        } else if (is("id2")) {
          event.has_rare = true;
          if (raw_of(value, event.id2) != simdjson::SUCCESS) return false;
        }
        break;
      case 'b':
        if (is("bp"))
          event.has_rare = true, event.binds_enclosing = text_in(value.raw_json_token()) == "e";
        else if (is("bind_id"))
          event.has_rare = true, event.bind_id = text_in(value.raw_json_token());
        break;
      case 'f':
        if (is("flow_in"))
          event.has_rare = true, event.has_flow_in = trimmed(value.raw_json_token()) == "true";
        else if (is("flow_out"))
          event.has_rare = true, event.has_flow_out = trimmed(value.raw_json_token()) == "true";
        break;
      case 'a':
        if (is("args")) {
          simdjson::ondemand::json_type type;
          if (value.type().get(type) != simdjson::SUCCESS) return false;
          if (type == simdjson::ondemand::json_type::object &&
              raw_of(value, event.args) != simdjson::SUCCESS)
            return false;
        }
        break;
      default:
        break;
    }
  }
  sink_(event);
  return true;
}

WindowResult WindowParser::parse(char* data, std::size_t size, bool is_last, std::uint64_t offset) {
  offset_ = offset;
  if (open_lists_ > 0) return parse_carefully(data, size, is_last, 0);
  char* const begin = data - 1;
  const char saved_front = *begin, saved_back = data[size];
  *begin = '[', data[size] = ']';
  WindowResult result;
  bool is_sound = false;
  simdjson::ondemand::document document;
  simdjson::ondemand::array array;
  if (parser_.iterate(begin, size + 2, size + 2 + simdjson::SIMDJSON_PADDING).get(document) ==
          simdjson::SUCCESS &&
      document.get_array().get(array) == simdjson::SUCCESS) {
    is_sound = true;
    for (auto element : array) {
      simdjson::ondemand::object object;
      std::string_view brace;
      if (element.raw_json_token().get(brace) != simdjson::SUCCESS ||
          element.get_object().get(object) != simdjson::SUCCESS ||
          !take(object, offset + static_cast<std::uint64_t>(brace.data() - data))) {
        is_sound = false;
        break;
      }
      ++result.events;
    }
    if (is_sound) {
      const char* location = nullptr;
      result.is_array_closed =
          document.current_location().get(location) == simdjson::SUCCESS && location <= data + size;
      result.consumed = result.is_array_closed ? static_cast<std::size_t>(location - data) : size;
    }
  }
  *begin = saved_front, data[size] = saved_back;
  return is_sound ? result : parse_carefully(data, size, is_last, result.events);
}

WindowResult WindowParser::parse_carefully(char* data, std::size_t size, bool is_last,
                                           std::int64_t skip) {
  WindowResult result;
  result.events = skip;
  std::int64_t seen = 0;
  std::size_t at = 0;
  const auto lose = [&](std::size_t where) {
    ++result.damaged;
    if (result.damaged_at.size() < kKeptPlaces) result.damaged_at.push_back(where);
  };
  while (at < size) {
    const char c = data[at];
    if (c == ']' && open_lists_ > 0) {
      const Behind behind = behind_bracket(data, at + 1, size, is_last);
      if (behind == Behind::unknown) return result;  // once more of the file is here
      if (behind == Behind::event) {
        --open_lists_;
        result.consumed = ++at;
        continue;
      }
    }
    if (c == ']') {
      result.is_array_closed = true;
      result.consumed = at + 1;
      return result;
    }
    if (c == '[') {  // a list where an event belongs: told, and what it holds is read
      lose(at);
      ++open_lists_;
      result.consumed = ++at;
      continue;
    }
    if (c != '{') {  // a separator, or damage between events
      if (!is_space(c) && c != ',') lose(at);
      do ++at;
      while (!is_space(c) && c != ',' && at < size && data[at] != '{' && data[at] != ']' &&
             data[at] != ',');
      result.consumed = at;
      continue;
    }
    const std::size_t start = at, end = end_of_value(data, at, size);
    if (end == std::string_view::npos) {
      // A lost quote swallows the rest: start again at the next event-like place, if there is one.
      const char* again = nullptr;
      for (std::size_t next = start + 1; next + 6 < size && again == nullptr; ++next)
        if (data[next] == '{' &&
            (std::memcmp(data + next, "{\"ph\":", 6) == 0 ||
             std::memcmp(data + next, "{\"name", 6) == 0) &&
            next > 0 && (data[next - 1] == ',' || is_space(data[next - 1])))
          again = data + next;
      if (again == nullptr) {
        result.consumed = start;
        if (is_last) lose(start), result.consumed = size;
        return result;
      }
      lose(start), ++seen;
      at = static_cast<std::size_t>(again - data);
      continue;
    }
    result.consumed = at = end;
    if (seen++ < skip) continue;
    bool is_repaired = false;
    if (take_alone({data + start, at - start}, offset_ + start, is_repaired)) {
      ++result.events;
      result.repaired += is_repaired;
    } else {
      lose(start);
    }
  }
  return result;
}

bool WindowParser::take_alone(std::string_view event, std::uint64_t offset, bool& is_repaired) {
  single_.assign(event.begin(), event.end());
  single_.resize(event.size() + simdjson::SIMDJSON_PADDING, ' ');
  for (is_repaired = false;; is_repaired = true) {
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    if (single_parser_.iterate(single_.data(), event.size(), single_.size()).get(document) ==
            simdjson::SUCCESS &&
        document.get_object().get(object) == simdjson::SUCCESS && take(object, offset))
      return true;
    if (is_repaired) return false;
    // Control characters and broken UTF-8 in names are common; the event is worth more than the
    // letter.
    std::replace_if(
        single_.begin(), single_.begin() + static_cast<std::ptrdiff_t>(event.size()),
        [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    std::replace_if(
        single_.begin(), single_.begin() + static_cast<std::ptrdiff_t>(event.size()),
        [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
}
}  // namespace stepcast::chrome_json
