#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/core/result.hpp"

namespace stepcast {
/// Inclusive ranges of ranks from "17", "0-7,12" or "*" (every rank: an empty list).
/// Problems, one sentence each: empty parts, letters, falling ranges, ranks past `world - 1`.
struct RankRanges {
  std::vector<std::pair<int, int>> ranges;
  std::vector<std::string> faults;
};
RankRanges rank_ranges_of(const std::string& text, int world);
}  // namespace stepcast
