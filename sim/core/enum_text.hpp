#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepcast {
/// Specialise for an enum to give each enumerator the text it has in JSON and on the command line:
///   template <> struct EnumText<Precision> {
///     static constexpr std::array<std::pair<Precision, std::string_view>, 2> table{{
///         {Precision::bf16, "bf16"}, {Precision::fp16, "fp16"}}}; };
template <class E>
struct EnumText;

template <class E>
std::string_view text_of(E value) requires requires {
  EnumText<E>::table;
}
{
  for (const auto& [e, text] : EnumText<E>::table)
    if (e == value) return text;
  return "?";
}
template <class E>
std::optional<E> enum_from_text(std::string_view text) {
  for (const auto& [e, known] : EnumText<E>::table)
    if (known == text) return e;
  return std::nullopt;
}
template <class E>
std::vector<std::string> enum_texts() {
  std::vector<std::string> texts;
  for (const auto& entry : EnumText<E>::table) texts.emplace_back(entry.second);
  return texts;
}
}  // namespace stepcast
