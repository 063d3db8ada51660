#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "sim/timeline/store/trace_store.hpp"

/// Level of detail: what one pixel of rows x time shows, at a cost of the screen's area whatever
/// the number of slices.
namespace stepcast::trace {

/// One reduced cell: the two largest categories with their share of the cell's area in fifteenths.
/// 0 = idle.
///   bits 15..12 first category, 11..8 its share, 7..4 second category, 3..0 its share; shares sum
///   to at most 15
/// A rare category (failure, checkpoint) present anywhere in the cell always holds one of the two
/// places, with a share of at least 1. 16 bits, so that a palette is a table of 65536 colours and
/// painting is one load a pixel.
using LodCell = std::uint16_t;
constexpr SliceCategory first_category(LodCell c) { return static_cast<SliceCategory>(c >> 12); }
constexpr int first_share(LodCell c) { return (c >> 8) & 15; }
constexpr SliceCategory second_category(LodCell c) {
  return static_cast<SliceCategory>((c >> 4) & 15);
}
constexpr int second_share(LodCell c) { return c & 15; }
constexpr bool is_idle(LodCell c) { return (c & 0x0F0F) == 0; }
constexpr LodCell lod_cell(SliceCategory first, int share, SliceCategory second = SliceCategory{},
                           int second_share = 0) {
  return static_cast<LodCell>(
      static_cast<unsigned>(first) << 12 | static_cast<unsigned>(share) << 8 |
      static_cast<unsigned>(second) << 4 | static_cast<unsigned>(second_share));
}
struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
};
/// Colours of all 65536 cells as 0xffRRGGBB: blend by share over the background (rare categories
/// keep at least half), or the dominant alone.
enum class Reduction : std::uint8_t { blend, dominant };
std::vector<std::uint32_t> cell_colours(std::span<const Rgb, kSliceCategories> palette,
                                        Rgb background, Reduction reduction = Reduction::blend);

/// What a row shows: its lanes drawn over each other (`union`), or the state of a rank by
/// state_priority over all of its device lanes.
struct LodRow {
  std::vector<LaneId> lanes;
  bool is_state = false;
  bool gaps_are_bubbles = false;  // state rows of ranks with pipeline messages: nothing between
                                  // first and last slice is a bubble
};
/// One row per lane, in display order of the store.
std::vector<LodRow> lane_rows(const TraceStore& trace);
/// One state row per rank: its device streams, or its host threads' compute where it has none.
/// Order: as given, else the store's.
std::vector<LodRow> state_rows(const TraceStore& trace, std::span<const RankId> order = {});

/// A frame may look at this many slices one by one: about 2 ms.
inline constexpr std::size_t kExactSlices = 100'000;

/// A window of time and rows on a grid of pixels.
struct LodQuery {
  Nanoseconds begin = 0, end = 0;  // half-open
  double first_row = 0,
         rows =
             0;  // window in rows, fractions allowed while scrolling; rows / height = rows a pixel
  int width = 0, height = 0;                // pixels
  std::size_t exact_slices = kExactSlices;  // a frame of several queries divides them
};

/// The pyramid over a list of rows: all halvings of rows and of time, about 4 bytes a slice
/// whatever the shape.
class LodPyramid {
 public:
  /// Rows are independent: `threads` of them side by side. An early stop gives a pyramid whose
  /// later rows are idle (is_complete() false).
  LodPyramid(TracePtr trace, std::vector<LodRow> rows, std::stop_token stop = {}, int threads = 1);
  ~LodPyramid();
  LodPyramid(const LodPyramid&) = delete;
  LodPyramid& operator=(const LodPyramid&) = delete;

  std::size_t rows() const;
  bool is_complete() const;
  std::size_t memory() const;
  /// Fills width x height cells, row by row. Exact from the slices where the window holds few (see
  /// exact_slices), else from the pyramid: the finest level that skips nothing between pixels (its
  /// cells are one to two pixels), or the finest there is. Returns true when the cells are exact to
  /// the pixel; a worker can call query_exact for the rest.
  bool query(const LodQuery& query, std::span<LodCell> cells) const;
  /// Always from the slices; false when stopped.
  bool query_exact(const LodQuery& query, std::span<LodCell> cells,
                   std::stop_token stop = {}) const;

 private:
  struct Levels;
  std::unique_ptr<Levels> levels_;
};

/// Slices of one lane in a window, folded for drawing: a slice of its own where it is at least
/// `least` ns long, else a run of small ones.
struct DrawItem {
  Nanoseconds begin = 0, end = 0;
  SliceId slice = 0;         // the slice, or the first of the run
  std::uint32_t count = 1;   // slices in it
  SliceCategory category{};  // of the longest time in it
};
/// Appends the items of a lane in [begin, end); gaps below `least` join a run. Cost: items x
/// log(slices).
void draw_items(const TraceStore& trace, LaneId lane, Nanoseconds begin, Nanoseconds end,
                Nanoseconds least, std::vector<DrawItem>& into);
}  // namespace stepcast::trace
