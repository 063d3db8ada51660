#include "sim/import/chakra/missing_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepcast::chakra {
namespace {
std::string range_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}
}  // namespace

std::string missing_ranks(const RanksSeen& seen) {
  if (seen.read.empty()) return "";
  std::set<int> known = seen.read;
  known.insert(seen.peers.begin(), seen.peers.end());
  const auto files = static_cast<std::int64_t>(seen.read.size());
  const std::int64_t first =
      seen.largest_group > files ? std::min<std::int64_t>(0, *known.begin()) : *known.begin();
  const std::int64_t last = std::max<std::int64_t>(*known.rbegin(), seen.largest_group - 1);
  std::string text;
  std::int64_t next = first;  // the lowest rank not yet looked at
  const auto add = [&](std::int64_t from, std::int64_t to) {
    if (from <= to) text += (text.empty() ? "" : ", ") + range_text(from, to);
  };
  for (const int rank : seen.read) {
    add(next, rank - 1);
    next = std::int64_t{rank} + 1;
  }
  add(next, last);
  return text;
}
}  // namespace stepcast::chakra
