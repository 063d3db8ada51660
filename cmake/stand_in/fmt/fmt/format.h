#pragma once
#include <charconv>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

/// Stands in for {fmt} in a build that only measures, on a machine without it
/// (cmake/stand_in/README.md): format and print with {} {n} and
/// [[fill]align][0][width][.precision][type], as the measuring part writes them. Anything else
/// throws, so a test run of that build shows it.
namespace fmt {
namespace stand_in {
using Value =
    std::variant<long long, unsigned long long, float, double, bool, char, std::string_view>;

struct Spec {
  char fill = ' ', align = 0, type = 0;
  std::size_t width = 0;
  int precision = -1;
};

template <class T>
Value value_of(const T& value) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, char> || std::same_as<T, float> ||
                std::same_as<T, double>)
    return value;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return static_cast<long long>(value);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<unsigned long long>(value);
  else
    return std::string_view(value);
}
inline int number_at(std::string_view text, std::size_t& at) {
  int number = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9')
    number = 10 * number + (text[at++] - '0');
  return number;
}
inline Spec spec_of(std::string_view text) {
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
  Spec spec;
  std::size_t at = 0;
  if (text.size() > 1 && is_align(text[1])) spec.fill = text[at++];
  if (at < text.size() && is_align(text[at])) spec.align = text[at++];
  if (at < text.size() && text[at] == '0') spec.fill = text[at++];
  spec.width = static_cast<std::size_t>(number_at(text, at));
  if (at < text.size() && text[at] == '.') spec.precision = number_at(text, ++at);
  if (at < text.size() && std::string_view("dxfeg").find(text[at]) != std::string_view::npos)
    spec.type = text[at++];
  if (at != text.size()) throw std::logic_error("format: cannot read :" + std::string(text));
  return spec;
}
template <class Number, class... How>
std::string digits(Number value, How... how) {
  char buffer[512];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, how...);
  return {buffer, end.ptr};
}
/// Without type and precision the shortest text that reads back as the same number, in plain
/// notation for exponents of -4 to 15.
template <std::floating_point Number>
std::string text_of_real(Number value, const Spec& spec) {
  if (spec.type == 0 && spec.precision < 0) {
    const std::string scientific = digits(value, std::chars_format::scientific);
    const std::size_t e = scientific.find('e');
    if (e == std::string::npos) return scientific;  // inf, nan
    const int exponent = std::atoi(scientific.c_str() + e + 1);
    return exponent < -4 || exponent > 15 ? scientific : digits(value, std::chars_format::fixed);
  }
  const std::chars_format format = spec.type == 'f'   ? std::chars_format::fixed
                                   : spec.type == 'e' ? std::chars_format::scientific
                                                      : std::chars_format::general;
  return digits(value, format, spec.precision < 0 ? 6 : spec.precision);
}
inline std::string text_of(const Value& value, const Spec& spec) {
  const auto text = [&](const auto& v) -> std::string {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::same_as<T, bool>)
      return v ? "true" : "false";
    else if constexpr (std::same_as<T, char>)
      return std::string(1, v);
    else if constexpr (std::same_as<T, std::string_view>)
      return std::string(
          spec.precision < 0 ? v : v.substr(0, static_cast<std::size_t>(spec.precision)));
    else if constexpr (std::floating_point<T>)
      return text_of_real(v, spec);
    else
      return digits(v, spec.type == 'x' ? 16 : 10);
  };
  std::string result = std::visit(text, value);
  if (result.size() >= spec.width) return result;
  const std::size_t room = spec.width - result.size();
  const bool is_text = std::holds_alternative<std::string_view>(value) ||
                       std::holds_alternative<char>(value) || std::holds_alternative<bool>(value);
  const char align = spec.align != 0 ? spec.align : is_text ? '<' : '>';
  if (spec.align == 0 && spec.fill == '0' && !is_text && result.find_first_of("in") == result.npos)
    return result.insert(result[0] == '-' ? 1 : 0, room, '0');
  const std::size_t before = align == '<' ? 0 : align == '>' ? room : room / 2;
  const char fill = spec.align == 0 ? ' ' : spec.fill;  // inf and nan have no zeros in front
  return std::string(before, fill) + result + std::string(room - before, fill);
}
inline std::string format(std::string_view text, const Value* values, std::size_t count) {
  std::string result;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      result += c;
      ++at;
    } else if (c == '{') {
      const std::size_t end = text.find('}', at);
      if (end == std::string_view::npos)
        throw std::logic_error("format: no } in " + std::string(text));
      std::string_view field = text.substr(at + 1, end - at - 1);
      std::size_t digit = 0;
      const bool is_numbered = !field.empty() && field[0] >= '0' && field[0] <= '9';
      const std::size_t index =
          is_numbered ? static_cast<std::size_t>(number_at(field, digit)) : next++;
      field.remove_prefix(digit);
      if (!field.empty() && field[0] == ':') field.remove_prefix(1);
      if (index >= count) throw std::logic_error("format: too few values for " + std::string(text));
      result += text_of(values[index], spec_of(field));
      at = end;
    } else {
      result += c;
    }
  }
  return result;
}
}  // namespace stand_in

template <class... Values>
std::string format(std::string_view text, const Values&... values) {
  const stand_in::Value list[] = {stand_in::value_of(values)..., false};  // one more: never empty
  return stand_in::format(text, list, sizeof...(values));
}
template <class...>
using format_string = std::string_view;  // checked when it runs, not when it compiles
template <class Iterator, class... Values>
Iterator format_to(Iterator to, std::string_view text, const Values&... values) {
  for (const char c : format(text, values...)) *to++ = c;
  return to;
}
template <class... Values>
void print(std::FILE* file, std::string_view text, const Values&... values) {
  const std::string line = format(text, values...);
  std::fwrite(line.data(), 1, line.size(), file);
}
template <class... Values>
void print(std::string_view text, const Values&... values) {
  print(stdout, text, values...);
}
}  // namespace fmt
