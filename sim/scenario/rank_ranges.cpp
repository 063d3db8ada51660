#include "sim/scenario/rank_ranges.hpp"

#include <charconv>
#include <optional>

namespace stepcast {
namespace {
std::optional<int> rank_from_text(const std::string& text) {
  int rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 0) return std::nullopt;
  return rank;
}
}  // namespace

RankRanges rank_ranges_of(const std::string& text, int world) {
  RankRanges result;
  if (text == "*") return result;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const auto comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    begin = comma + 1;
    const auto dash = part.find('-');
    const auto first = rank_from_text(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : rank_from_text(part.substr(dash + 1));
    if (!first || !last) {
      result.faults.push_back("\"" + part.substr(0, 40) + "\" is neither a rank nor a range");
    } else if (*last < *first) {
      result.faults.push_back("the range " + part + " falls");
    } else if (world > 0 && *last >= world) {
      result.faults.push_back("rank " + std::to_string(*last) + " does not exist; ranks are 0 to " +
                              std::to_string(world - 1));
    } else {
      result.ranges.emplace_back(*first, *last);
    }
  }
  return result;
}
}  // namespace stepcast
