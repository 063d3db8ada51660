#include <cctype>

#include "sim/timeline/filter/filter_tree.hpp"

namespace stepcast::trace {
namespace {
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':' || c == '#' ||
         c == '/' || c == '*' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

std::vector<FilterToken> filter_tokens(std::string_view text) {
  std::vector<FilterToken> tokens;
  std::size_t at = 0;
  const auto push = [&](FilterToken::Kind kind, std::string value, std::size_t length) {
    tokens.push_back({kind, std::move(value), at, length});
    at += length;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    if (c == '"' || c == '\'') {
      std::string value;
      std::size_t end = at + 1;
      for (; end < text.size() && text[end] != c; ++end) {
        if (text[end] == '\\' && end + 1 < text.size() &&
            (text[end + 1] == c || text[end + 1] == '\\'))
          ++end;
        value += text[end];
      }
      if (end >= text.size())
        throw FilterError{at, text.size() - at, "the text is not closed",
                          std::string("put ") + c + " behind it"};
      push(FilterToken::Kind::text, std::move(value), end + 1 - at);
    } else if (is_digit(c) || (c == '-' && at + 1 < text.size() && is_digit(text[at + 1])) ||
               (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
      std::size_t end = at + 1;
      while (end < text.size() &&
             (is_digit(text[end]) ||
              (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]))))
        ++end;
      if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E') &&
          (is_digit(text[end + 1]) || ((text[end + 1] == '-' || text[end + 1] == '+') &&
                                       end + 2 < text.size() && is_digit(text[end + 2])))) {
        end += 2;
        while (end < text.size() && is_digit(text[end])) ++end;
      }
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
        ++end;  // the unit, or a name that begins with digits
      push(FilterToken::Kind::number, std::string(text.substr(at, end - at)), end - at);
    } else if (is_word(c)) {
      std::size_t end = at + 1;
      while (end < text.size() &&
             (is_word(text[end]) ||
              (text[end] == '-' && end + 1 < text.size() && is_word(text[end + 1])) ||
              (text[end] == '.' && end + 1 < text.size() && is_word(text[end + 1]))))
        ++end;
      push(FilterToken::Kind::word, std::string(text.substr(at, end - at)), end - at);
    } else {
      static constexpr std::string_view symbols[] = {"<=", ">=", "!=", "!~", "=~", "==", "..",
                                                     "&&", "||", "=",  "~",  "<",  ">",  "(",
                                                     ")",  "{",  "}",  ",",  "!"};
      bool is_known = false;
      for (const std::string_view symbol : symbols)
        if (text.substr(at).starts_with(symbol)) {
          push(FilterToken::Kind::symbol, std::string(symbol), symbol.size());
          is_known = true;
          break;
        }
      if (!is_known)
        throw FilterError{at, 1, "\"" + std::string(1, c) + "\" means nothing here",
                          "put texts with such letters in quotes"};
    }
  }
  tokens.push_back({FilterToken::Kind::end, "", text.size(), 0});
  return tokens;
}
}  // namespace stepcast::trace
