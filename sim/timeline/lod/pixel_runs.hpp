#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/timeline/lod/lod.hpp"

namespace stepcast::trace {
/// Shares of categories along one line of pixels, from intervals that are few beside the pixels. A
/// column where nothing begins or ends looks like the one before it, so a line costs its borders
/// and one fill between two of them:
///   add(a, 1.5, 6)   columns  0 1 2 3 4 5 6     part of a:  .5 at 1;  cover of a:  +1 at 2, -1 at
///   6
class PixelRuns {
 public:
  explicit PixelRuns(std::size_t width);
  /// [from, to) in pixels, inside of [0, width].
  void add(SliceCategory category, double from, double to);
  /// Writes the cells of a line that gathers `rows` rows, and forgets the sums.
  void write(std::span<LodCell> out, double rows);

 private:
  struct Sums {
    std::vector<float> part, cover;  // of a column; change of the whole columns from here on
  };
  Sums& of(SliceCategory category);
  void mark(std::size_t column) { borders_[column / 64] |= std::uint64_t{1} << (column % 64); }
  std::size_t width_;
  std::array<Sums, kSliceCategories> sums_;
  std::vector<SliceCategory> present_;
  std::vector<std::uint64_t> borders_;  // a bit a column
};
}  // namespace stepcast::trace
