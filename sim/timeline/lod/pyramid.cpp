#include "sim/timeline/lod/pyramid.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <future>

namespace stepcast::trace {
namespace {
/// Cells of a row level's finest bins for each slice: a level costs twice that with its halvings,
/// at two bytes a cell, and four to six levels reach the budget. At 10 M slices in 8192 lanes of
/// 2048 ranks 0.18 gives 2.9 bytes a slice for the lanes and 2.1 for the ranks' states, 23 with the
/// store (0.25 gave 26.6, measured), and 2048 bins where the whole trace is seen at once.
constexpr double kCellsPerSlice = 0.18;
constexpr std::size_t kLeastBins = 64;
/// Wider than any screen; with fewer rows than slices allow, the finest rows may have more.
constexpr std::size_t kWideBins = 4096, kMostBins = 65536;
constexpr std::size_t kSmallestBudget =
    std::size_t{1} << 18;  // cells: small traces get crisp pictures for half a megabyte
}  // namespace

void LodPyramid::Levels::plan() {
  begin = trace->begin();
  const Nanoseconds length = std::max<Nanoseconds>(1, trace->end() - trace->begin());
  slices_before.assign(1, 0);
  for (const LodRow& row : rows) {
    std::uint64_t count = 0;
    for (const LaneId lane : row.lanes) count += trace->lanes()[lane].count;
    slices_before.push_back(slices_before.back() + count);
  }
  const auto budget = std::max(
      kSmallestBudget,
      static_cast<std::size_t>(static_cast<double>(slices_before.back()) * kCellsPerSlice));
  std::size_t groups = std::max<std::size_t>(1, rows.size()), most = 0;
  for (;;) {
    Level level;
    level.groups = groups;
    const std::size_t wanted = std::bit_floor(std::max<std::size_t>(1, budget / groups));
    const std::size_t cap = levels.empty() ? kMostBins : std::max(kWideBins, levels.front().bins);
    level.bins = std::clamp(wanted, kLeastBins, cap);
    most = std::max(most, level.bins);
    levels.push_back(std::move(level));
    if (groups == 1) break;
    groups = (groups + 1) / 2;
  }
  finest_bins = most;
  bin_width =
      (length + static_cast<Nanoseconds>(finest_bins) - 1) / static_cast<Nanoseconds>(finest_bins);
  bin_width = std::max<Nanoseconds>(1, bin_width);
  for (Level& level : levels)
    for (std::size_t bins = level.bins; bins >= 1; bins /= 2)
      level.by_halving.emplace_back(level.groups * bins, LodCell{0});
}

void LodPyramid::Levels::build(std::stop_token stop, int threads) {
  if (!rows.empty()) build_group(levels.size() - 1, 0, stop, threads);
}

/// Sums of a group of 2^level rows at the finest bins; its cells are written on the way.
BinSums LodPyramid::Levels::build_group(std::size_t level, std::size_t group,
                                        const std::stop_token& stop, int threads) {
  BinSums sums(finest_bins);
  if (stop.stop_requested()) {
    is_complete = false;
    return sums;
  }
  if (level == 0) {
    const Nanoseconds end = begin + bin_width * static_cast<Nanoseconds>(finest_bins);
    add_row(*trace, state_of_op, rows[group], begin, end, bin_width, sums);
  } else {
    const bool has_second = 2 * group + 1 < levels[level - 1].groups;
    std::future<BinSums> second;
    if (has_second && threads > 1)
      second = std::async(std::launch::async, [&, half = threads / 2] {
        return build_group(level - 1, 2 * group + 1, stop, half);
      });
    sums = build_group(level - 1, 2 * group, stop, has_second ? threads - threads / 2 : threads);
    if (has_second)
      sums.add(second.valid() ? second.get() : build_group(level - 1, 2 * group + 1, stop, 1));
  }
  emit(level, group, sums);
  return sums;
}

void LodPyramid::Levels::emit(std::size_t level, std::size_t group, BinSums sums) {
  Level& l = levels[level];
  while (sums.bins() > l.bins) sums.halve();
  const std::size_t rows_in_group =
      std::min(rows.size() - (group << level), std::size_t{1} << level);
  for (std::vector<LodCell>& cells : l.by_halving) {
    const double area = static_cast<double>(bin_width) *
                        static_cast<double>(finest_bins / sums.bins()) *
                        static_cast<double>(rows_in_group);
    LodCell* out = cells.data() + group * sums.bins();
    for (std::size_t bin = 0; bin < sums.bins(); ++bin) out[bin] = sums.cell(bin, area);
    if (sums.bins() > 1) sums.halve();
  }
}

LodPyramid::LodPyramid(TracePtr trace, std::vector<LodRow> rows, std::stop_token stop, int threads)
    : levels_(std::make_unique<Levels>()) {
  levels_->state_of_op = state_categories(*trace);
  levels_->trace = std::move(trace);
  levels_->rows = std::move(rows);
  levels_->plan();
  levels_->build(std::move(stop), threads);
}
LodPyramid::~LodPyramid() = default;
std::size_t LodPyramid::rows() const { return levels_->rows.size(); }
bool LodPyramid::is_complete() const { return levels_->is_complete; }
std::size_t LodPyramid::memory() const {
  std::size_t bytes = levels_->slices_before.size() * sizeof(std::uint64_t);
  for (const Levels::Level& level : levels_->levels)
    for (const auto& cells : level.by_halving) bytes += cells.size() * sizeof(LodCell);
  for (const LodRow& row : levels_->rows)
    bytes += sizeof(LodRow) + row.lanes.size() * sizeof(LaneId);
  return bytes;
}
}  // namespace stepcast::trace
