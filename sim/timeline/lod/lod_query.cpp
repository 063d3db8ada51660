#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/core/assert.hpp"
#include "sim/timeline/lod/cell_sums.hpp"
#include "sim/timeline/lod/pixel_runs.hpp"
#include "sim/timeline/lod/pyramid.hpp"

namespace stepcast::trace {
namespace {
/// Work of drawing exactly, in slices of a lane (about 20 ns, measured): a row's searches in
/// columns that no cache holds yet (1 to 2 us for each of 8192 rows at 10 M slices: with 5 in place
/// of 10 the first frames of a pan took 19 ms), and a slice of a state row, whose lanes are swept
/// against each other.
constexpr double kRowWork = 10, kStateWork = 3;

/// Left border of a pixel column; integer, so that columns tile the window exactly.
Nanoseconds column_begin(const LodQuery& q, int x) {
  const Nanoseconds span = q.end - q.begin, width = q.width;
  return q.begin + span / width * x + span % width * x / width;
}

/// What one row shows in the window, into the columns of its line. A slice without length counts as
/// half a nanosecond, so that it is seen where it stands alone.
void gather_row(const TraceStore& trace, const std::vector<SliceCategory>& state_of_op,
                const LodRow& row, const LodQuery& q, PixelRuns& runs) {
  const double pixels_a_ns = q.width / static_cast<double>(q.end - q.begin);
  const double width = q.width, least = 0.5 * pixels_a_ns;
  const auto gather = [&](Nanoseconds begin, Nanoseconds end, SliceCategory category) {
    const double from = std::clamp(static_cast<double>(begin - q.begin) * pixels_a_ns, 0.0, width);
    runs.add(category, from,
             std::clamp(static_cast<double>(end - q.begin) * pixels_a_ns, from + least,
                        std::max(width, from + least)));
  };
  if (row.is_state) return sweep_states(trace, state_of_op, row, q.begin, q.end, gather);
  for (const LaneId lane : row.lanes) {
    const LaneInfo& l = trace.lanes()[lane];
    for (SliceId s = trace.first_ending_after(lane, q.begin); s < l.first + l.count; ++s) {
      const Nanoseconds start = trace.start(s);
      if (start >= q.end) break;
      gather(start, start + trace.duration(s), trace.category(s));
    }
  }
}
/// First and last row that a line of pixels shows; last < first: none.
std::pair<std::int64_t, std::int64_t> rows_of_line(const LodQuery& q, int y, std::size_t rows) {
  const double a_pixel = q.rows / q.height;
  const auto first = static_cast<std::int64_t>(std::floor(q.first_row + y * a_pixel));
  auto last = static_cast<std::int64_t>(std::ceil(q.first_row + (y + 1) * a_pixel)) - 1;
  if (a_pixel <= 1) last = first;  // a pixel shows the row its upper edge lies in
  return {std::max<std::int64_t>(0, first),
          std::min<std::int64_t>(last, static_cast<std::int64_t>(rows) - 1)};
}
}  // namespace

bool LodPyramid::query_exact(const LodQuery& q, std::span<LodCell> cells,
                             std::stop_token stop) const {
  const Levels& l = *levels_;
  STEPCAST_ASSERT(
      q.width > 0 && q.height > 0 &&
          cells.size() == static_cast<std::size_t>(q.width) * static_cast<std::size_t>(q.height),
      "callers give cells of the window's size");
  const auto width = static_cast<std::size_t>(q.width);
  if (q.end <= q.begin || q.rows <= 0) {
    std::fill(cells.begin(), cells.end(), LodCell{0});
    return true;
  }
  PixelRuns runs(width);
  std::span<const LodCell> drawn;
  std::int64_t drawn_row = -1;
  for (int y = 0; y < q.height; ++y) {
    if (stop.stop_requested()) return false;
    const auto out = cells.subspan(static_cast<std::size_t>(y) * width, width);
    const auto [first, last] = rows_of_line(q, y, l.rows.size());
    if (first == last && first == drawn_row) {
      std::copy(drawn.begin(), drawn.end(), out.begin());
      continue;
    }
    for (std::int64_t row = first; row <= last; ++row)
      gather_row(*l.trace, l.state_of_op, l.rows[static_cast<std::size_t>(row)], q, runs);
    runs.write(out, static_cast<double>(std::max<std::int64_t>(1, last - first + 1)));
    drawn = out, drawn_row = first == last ? first : -1;
  }
  return true;
}

bool LodPyramid::query(const LodQuery& q, std::span<LodCell> cells) const {
  const Levels& l = *levels_;
  STEPCAST_ASSERT(
      q.width > 0 && q.height > 0 &&
          cells.size() == static_cast<std::size_t>(q.width) * static_cast<std::size_t>(q.height),
      "callers give cells of the window's size");
  const auto row_count = static_cast<double>(l.rows.size());
  if (q.end <= q.begin || q.rows <= 0 || l.rows.empty()) {
    std::fill(cells.begin(), cells.end(), LodCell{0});
    return true;
  }
  // How many slices lie in the window, taking them as spread evenly; the exact count would cost two
  // searches a lane.
  const auto first = static_cast<std::size_t>(std::clamp(q.first_row, 0.0, row_count));
  const auto last =
      static_cast<std::size_t>(std::clamp(std::ceil(q.first_row + q.rows), 0.0, row_count));
  const auto in_rows = static_cast<double>(l.slices_before[last] - l.slices_before[first]);
  const auto length =
      static_cast<double>(std::max<Nanoseconds>(1, l.trace->end() - l.trace->begin()));
  const auto window =
      static_cast<double>(std::min(q.end, l.trace->end()) - std::max(q.begin, l.trace->begin()));
  const double estimate = in_rows * std::clamp(window / length, 0.0, 1.0);
  const double rows_a_pixel = q.rows / q.height;
  const auto level_index =
      rows_a_pixel <= 1 ? 0
                        : std::min(l.levels.size() - 1,
                                   static_cast<std::size_t>(std::ceil(std::log2(rows_a_pixel))));
  const Levels::Level& level = l.levels[level_index];
  // The time level: bins of one to two pixels.
  const double a_pixel = static_cast<double>(q.end - q.begin) / q.width;
  const auto finest =
      static_cast<double>(l.bin_width) * static_cast<double>(l.finest_bins / level.bins);
  const std::size_t halving =
      a_pixel <= finest
          ? 0
          : std::min(level.by_halving.size() - 1,
                     static_cast<std::size_t>(std::ceil(std::log2(a_pixel / finest))));
  const bool is_sharp = a_pixel >= finest;
  // A level that is sharp anyway is taken first where rows share a pixel.
  const double work =
      estimate * (l.rows.front().is_state ? kStateWork : 1) + (last - first) * kRowWork;
  const bool is_exact_cheap = work <= static_cast<double>(q.exact_slices);
  if (is_exact_cheap && (rows_a_pixel <= 1 || !is_sharp)) return query_exact(q, cells);

  const auto width = static_cast<std::size_t>(q.width);
  const std::size_t bins = level.bins >> halving;
  const Nanoseconds bin_width = l.bin_width * static_cast<Nanoseconds>(l.finest_bins / bins);
  std::vector<std::int32_t> bin_of(width);  // -1: outside
  for (std::size_t x = 0; x < width; ++x) {
    const Nanoseconds middle =
        (column_begin(q, static_cast<int>(x)) + column_begin(q, static_cast<int>(x) + 1)) / 2 -
        l.begin;
    bin_of[x] = middle < 0 || middle / bin_width >= static_cast<Nanoseconds>(bins)
                    ? -1
                    : static_cast<std::int32_t>(middle / bin_width);
  }
  const bool has_outside = std::find(bin_of.begin(), bin_of.end(), -1) != bin_of.end();
  const LodCell* drawn = nullptr;
  std::int64_t drawn_group = -1;
  for (int y = 0; y < q.height; ++y) {
    LodCell* out = cells.data() + static_cast<std::size_t>(y) * width;
    const auto row = static_cast<std::int64_t>(std::floor(q.first_row + y * rows_a_pixel));
    if (row < 0 || row >= static_cast<std::int64_t>(l.rows.size())) {
      std::fill(out, out + width, LodCell{0});
      continue;
    }
    const std::int64_t group = row >> level_index;
    if (group == drawn_group) {
      std::memcpy(out, drawn, width * sizeof(LodCell));
      continue;
    }
    const LodCell* from = level.by_halving[halving].data() + static_cast<std::size_t>(group) * bins;
    if (has_outside)
      for (std::size_t x = 0; x < width; ++x) out[x] = bin_of[x] < 0 ? LodCell{0} : from[bin_of[x]];
    else
      for (std::size_t x = 0; x < width; ++x) out[x] = from[bin_of[x]];
    drawn = out, drawn_group = group;
  }
  return false;
}
}  // namespace stepcast::trace
