#include "sim/timeline/lod/pixel_runs.hpp"

#include <algorithm>
#include <bit>

#include "sim/timeline/lod/cell_sums.hpp"

namespace stepcast::trace {
// Two columns more than seen: an interval that ends at the right border marks the one behind it.
PixelRuns::PixelRuns(std::size_t width) : width_(width), borders_((width + 2 + 63) / 64, 0) {}

PixelRuns::Sums& PixelRuns::of(SliceCategory category) {
  Sums& sums = sums_[static_cast<std::size_t>(category)];
  if (sums.part.empty()) {
    sums.part.assign(width_ + 2, 0), sums.cover.assign(width_ + 2, 0);
    present_.push_back(category);
  }
  return sums;
}

void PixelRuns::add(SliceCategory category, double from, double to) {
  Sums& sums = of(category);
  const auto first = static_cast<std::size_t>(from), last = static_cast<std::size_t>(to);
  mark(first), mark(first + 1);
  if (first == last) {
    sums.part[first] += static_cast<float>(to - from);
    return;
  }
  sums.part[first] += static_cast<float>(static_cast<double>(first + 1) - from);
  sums.cover[first + 1] += 1;
  sums.cover[last] -= 1;
  sums.part[last] += static_cast<float>(to - static_cast<double>(last));
  mark(last), mark(last + 1);
}

void PixelRuns::write(std::span<LodCell> out, double rows) {
  std::array<float, kSliceCategories> whole{};
  std::array<CategorySum, kSliceCategories> sums;
  const std::size_t count = present_.size();
  for (std::size_t i = 0; i < count; ++i) sums[i].category = present_[i];
  LodCell cell = 0;
  std::size_t done = 0;
  for (std::size_t word = 0; word < borders_.size(); ++word) {
    for (std::uint64_t bits = borders_[word]; bits != 0; bits &= bits - 1) {
      const std::size_t column = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      const std::size_t seen = std::min(column, width_);
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(done),
                out.begin() + static_cast<std::ptrdiff_t>(seen), cell);
      done = seen;
      for (std::size_t i = 0; i < count; ++i) {
        Sums& s = sums_[static_cast<std::size_t>(present_[i])];
        whole[i] += s.cover[column];
        sums[i].time = whole[i] + s.part[column];
        s.cover[column] = s.part[column] = 0;
      }
      if (column < width_) cell = cell_of(std::span(sums.data(), count), rows);
    }
    borders_[word] = 0;
  }
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(done), out.end(), cell);
}
}  // namespace stepcast::trace
