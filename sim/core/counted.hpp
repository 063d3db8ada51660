#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace stepcast {
/// "1 step", "3 steps": a count with its noun, for sentences people read. Nouns take a plain "s".
template <typename Count>
std::string counted(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == Count{1} ? "" : "s");
}
}  // namespace stepcast
