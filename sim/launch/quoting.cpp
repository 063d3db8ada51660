#include "sim/launch/quoting.hpp"

#include <cctype>

#include "sim/io/json.hpp"

namespace stepcast::launch {
namespace {
bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
}  // namespace

std::string shell_quoted(const std::string& word) {
  bool is_harmless = !word.empty();
  for (const char c : word)
    is_harmless = is_harmless && (is_alphanumeric(c) ||
                                  std::string_view("_./:=@%+,-").find(c) != std::string::npos);
  if (is_harmless) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";  // ends the quotes, a quoted quote, opens them again
    else if (c != '\0')
      out += c;
  }
  return out + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_quoted(word);
  return out;
}

std::string yaml_quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string comment_line(const std::string& text) {
  std::string out = "# ";
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  while (out.back() == ' ') out.pop_back();
  return out + "\n";
}

std::string dns_label(const std::string& name) {
  constexpr std::size_t kLongest = 63;
  std::string out;
  for (const char c : name) {
    if (is_alphanumeric(c))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  if (out.empty() || std::isalpha(static_cast<unsigned char>(out.front())) == 0) out = "job-" + out;
  if (out.size() > kLongest) out.resize(kLongest);
  while (out.back() == '-') out.pop_back();
  return out;
}
}  // namespace stepcast::launch
