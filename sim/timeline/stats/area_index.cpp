#include <algorithm>

#include "sim/timeline/stats/area_scan.hpp"

namespace stepcast::trace {
namespace {
constexpr SliceId kBlock = 128;  // slices a block: two partial ones a lane are read per question
}

/// Per lane: the categories that occur and, for each block border, the sums before it.
struct AreaIndex::Blocks {
  struct Lane {
    std::uint64_t first = 0;
    std::uint32_t categories = 0;
  };  // bit mask; sums from `first`, one row a block border
  TracePtr trace;
  std::vector<Lane> lanes;
  std::vector<std::uint64_t> totals;  // nanoseconds before the border
  std::vector<std::uint32_t> counts;
};

AreaIndex::AreaIndex(TracePtr trace, std::stop_token stop) : blocks_(std::make_unique<Blocks>()) {
  Blocks& b = *blocks_;
  b.trace = std::move(trace);
  const TraceStore& t = *b.trace;
  b.lanes.resize(t.lanes().size());
  for (LaneId lane = 0; lane < b.lanes.size(); ++lane) {
    if (stop.stop_requested()) break;
    const LaneInfo& l = t.lanes()[lane];
    Blocks::Lane& mine = b.lanes[lane];
    mine.first = b.totals.size();
    for (SliceId s = l.first; s < l.first + l.count; ++s)
      mine.categories |= 1U << static_cast<unsigned>(t.category(s));
    std::array<std::uint64_t, kSliceCategories> total{};
    std::array<std::uint32_t, kSliceCategories> count{};
    for (SliceId s = l.first; s <= l.first + l.count; ++s) {
      if ((s - l.first) % kBlock == 0)
        for (std::size_t c = 0; c < kSliceCategories; ++c)
          if ((mine.categories >> c & 1U) != 0)
            b.totals.push_back(total[c]), b.counts.push_back(count[c]);
      if (s == l.first + l.count) break;
      const auto c = static_cast<std::size_t>(t.category(s));
      total[c] += static_cast<std::uint64_t>(t.duration(s));
      ++count[c];
    }
  }
}
AreaIndex::~AreaIndex() = default;
std::size_t AreaIndex::memory() const {
  return blocks_->lanes.size() * sizeof(Blocks::Lane) +
         blocks_->totals.size() * sizeof(std::uint64_t) +
         blocks_->counts.size() * sizeof(std::uint32_t);
}

std::array<AreaIndex::Sum, kSliceCategories> AreaIndex::by_category(const Area& area) const {
  const TraceStore& t = *blocks_->trace;
  std::array<Sum, kSliceCategories> sums{};
  scan_lanes(t, area, nullptr, {}, [&](LaneId lane, SliceId first, SliceId last) {
    if (first == last) return;
    const LaneInfo& l = t.lanes()[lane];
    const Blocks::Lane& mine = blocks_->lanes[lane];
    const auto add = [&](SliceId from, SliceId to) {
      for (SliceId s = from; s < to; ++s) {
        Sum& sum = sums[static_cast<std::size_t>(t.category(s))];
        ++sum.count;
        sum.total += static_cast<double>(t.duration(s));
      }
    };
    // Whole blocks from the prefix sums, the rest one by one.
    const SliceId first_border = (first - l.first + kBlock - 1) / kBlock,
                  last_border = (last - l.first) / kBlock;
    if (mine.categories == 0 || last_border <= first_border) {
      add(first, last);
    } else {
      add(first, l.first + first_border * kBlock);
      add(l.first + last_border * kBlock, last);
      std::size_t width = 0;
      for (std::size_t c = 0; c < kSliceCategories; ++c) width += mine.categories >> c & 1U;
      std::size_t column = 0;
      for (std::size_t c = 0; c < kSliceCategories; ++c) {
        if ((mine.categories >> c & 1U) == 0) continue;
        const std::size_t from = mine.first + first_border * width + column,
                          to = mine.first + last_border * width + column;
        sums[c].count += blocks_->counts[to] - blocks_->counts[from];
        sums[c].total += static_cast<double>(blocks_->totals[to] - blocks_->totals[from]);
        ++column;
      }
    }
    // The first and the last slice may reach over the window.
    if (t.start(first) < area.begin)
      sums[static_cast<std::size_t>(t.category(first))].total -=
          static_cast<double>(area.begin - t.start(first));
    if (t.end(last - 1) > area.end)
      sums[static_cast<std::size_t>(t.category(last - 1))].total -=
          static_cast<double>(t.end(last - 1) - area.end);
  });
  return sums;
}
}  // namespace stepcast::trace
