#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/core/assert.hpp"
#include "sim/timeline/lod/pyramid.hpp"

namespace stepcast::trace {
namespace {
/// Left border of a pixel column; integer, so that columns tile the window exactly.
Nanoseconds column_begin(const LodQuery& q, int x) {
  const Nanoseconds span = q.end - q.begin, width = q.width;
  return q.begin + span / width * x + span % width * x / width;
}

/// One lane that is a row of its own: slices do not overlap, so pixels are written in order and
/// whole runs at once.
void draw_lane(const TraceStore& trace, LaneId lane, const LodQuery& q, std::span<LodCell> out) {
  std::fill(out.begin(), out.end(), LodCell{0});
  const double a_pixel = static_cast<double>(q.end - q.begin) / q.width, pixels_a_ns = 1 / a_pixel;
  std::array<CategorySum, 4>
      sums;  // of the pixel being gathered; more categories in one pixel are folded into the last
  std::size_t count = 0;
  int pixel = -1;
  const auto flush = [&] {
    if (pixel >= 0 && count > 0)
      out[static_cast<std::size_t>(pixel)] = cell_of(std::span(sums.data(), count), a_pixel);
    count = 0;
  };
  const auto gather = [&](int x, SliceCategory category, double time) {
    if (x != pixel) flush(), pixel = x;
    for (std::size_t i = 0; i < count; ++i)
      if (sums[i].category == category) {
        sums[i].time += time;
        return;
      }
    if (count < sums.size())
      sums[count++] = {category, time};
    else if (is_rare(category))
      sums.back() = {category, time};
  };
  const LaneInfo& l = trace.lanes()[lane];
  const int last_pixel = q.width - 1;
  for (SliceId s = trace.first_ending_after(lane, q.begin); s < l.first + l.count; ++s) {
    const Nanoseconds start = trace.start(s);
    if (start >= q.end) break;
    const SliceCategory category = trace.category(s);
    const double from = std::max(0.0, static_cast<double>(start - q.begin) * pixels_a_ns);
    const double to =
        std::min<double>(q.width, static_cast<double>(trace.end(s) - q.begin) * pixels_a_ns);
    const int first = std::min(last_pixel, static_cast<int>(from)),
              last = std::min(last_pixel, static_cast<int>(to));
    if (first == last) {
      gather(first, category,
             std::max((to - from) * a_pixel, 0.5));  // also without length it is seen
      continue;
    }
    gather(first, category, (first + 1 - from) * a_pixel);
    if (last > first + 1)
      std::fill(out.begin() + first + 1, out.begin() + last, lod_cell(category, 15));
    if (to > last) gather(last, category, (to - last) * a_pixel);
  }
  flush();
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
  std::fill(cells.begin(), cells.end(), LodCell{0});
  if (q.end <= q.begin || q.rows <= 0) return true;
  const double rows_a_pixel = q.rows / q.height;
  // Sums have integer bins; a pixel that is no whole number of nanoseconds needs finer ones only
  // below 64 ns a pixel, where a picture has few slices.
  const Nanoseconds bin = std::max<Nanoseconds>(
      1, static_cast<Nanoseconds>(std::ceil(static_cast<double>(q.end - q.begin) / q.width)));
  BinSums sums(width);
  const LodCell* drawn = nullptr;
  std::int64_t drawn_row = -1;
  for (int y = 0; y < q.height; ++y) {
    if (stop.stop_requested()) return false;
    LodCell* out = cells.data() + static_cast<std::size_t>(y) * width;
    const auto first = static_cast<std::int64_t>(std::floor(q.first_row + y * rows_a_pixel));
    auto last = static_cast<std::int64_t>(std::ceil(q.first_row + (y + 1) * rows_a_pixel)) - 1;
    if (rows_a_pixel <= 1) last = first;  // a pixel shows the row its upper edge lies in
    if (last < 0 || first >= static_cast<std::int64_t>(l.rows.size())) continue;
    if (first == last && first == drawn_row) {
      std::memcpy(out, drawn, width * sizeof(LodCell));
      continue;
    }
    const auto from = static_cast<std::size_t>(std::max<std::int64_t>(0, first));
    const auto to = static_cast<std::size_t>(
        std::min<std::int64_t>(last, static_cast<std::int64_t>(l.rows.size()) - 1));
    if (from == to && !l.rows[from].is_state && l.rows[from].lanes.size() == 1) {
      draw_lane(*l.trace, l.rows[from].lanes.front(), q, {out, width});
    } else {
      sums.clear();
      for (std::size_t row = from; row <= to; ++row)
        add_row(*l.trace, l.state_of_op, l.rows[row], q.begin, q.end, bin, sums);
      const double area = static_cast<double>(bin) * static_cast<double>(to - from + 1);
      const double bins_a_pixel =
          static_cast<double>(q.end - q.begin) / q.width / static_cast<double>(bin);
      for (std::size_t x = 0; x < width; ++x)
        out[x] = sums.cell(static_cast<std::size_t>(static_cast<double>(x) * bins_a_pixel), area);
    }
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
  // Rows summed in one pixel cost more than a lane of its own; a level that is sharp anyway is
  // taken first there.
  const bool is_exact_cheap =
      estimate <= static_cast<double>(kExactSlices) && (last - first) <= 16384;
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
