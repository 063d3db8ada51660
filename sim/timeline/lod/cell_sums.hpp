#pragma once
#include <array>
#include <span>
#include <vector>

#include "sim/timeline/lod/lod.hpp"

/// Time by category, the common ground of pyramid, exact drawing and rank statistics; gui does not
/// need it.
namespace stepcast::trace {
struct CategorySum {
  SliceCategory category{};
  double time = 0;
};
/// The cell of these times in an area of `area` nanoseconds (times rows).
LodCell cell_of(std::span<const CategorySum> sums, double area);

/// Nanoseconds by category and bin; a category takes memory once it occurs.
class BinSums {
 public:
  explicit BinSums(std::size_t bins) : bins_(bins) {}
  std::size_t bins() const { return bins_; }
  /// [begin, end) relative to the first bin, which is `width` wide; an empty interval of a rare
  /// category leaves a mark.
  void add(SliceCategory category, Nanoseconds begin, Nanoseconds end, Nanoseconds width);
  void add(const BinSums& other);
  void clear();
  /// Sums neighbours: half as many bins.
  void halve();
  LodCell cell(std::size_t bin, double area) const;

 private:
  float* of(SliceCategory category) {
    auto& sums = sums_[static_cast<std::size_t>(category)];
    if (sums.empty()) {
      sums.assign(bins_, 0);
      present_.push_back(category);
    }
    return sums.data();
  }
  std::size_t bins_;
  std::array<std::vector<float>, kSliceCategories> sums_;
  std::vector<SliceCategory> present_;
};

/// Category of each op in a state row: overlapped communication counts as its own group where
/// nothing computes.
std::vector<SliceCategory> state_categories(const TraceStore& trace);
/// Calls emit(begin, end, category) for the states of a row in [begin, end), in order; idle time is
/// left out.
template <class Emit>
void sweep_states(const TraceStore& trace, const std::vector<SliceCategory>& state_of_op,
                  const LodRow& row, Nanoseconds begin, Nanoseconds end, Emit&& emit);
/// Nanoseconds of each category in a rank's state row over a window; idle = window - sum.
std::array<Nanoseconds, kSliceCategories> state_times(const TraceStore& trace,
                                                      const std::vector<SliceCategory>& state_of_op,
                                                      const LodRow& row, Nanoseconds begin,
                                                      Nanoseconds end);
/// Adds what a row shows in [begin, end) to the sums, whose first bin begins at `begin`.
void add_row(const TraceStore& trace, const std::vector<SliceCategory>& state_of_op,
             const LodRow& row, Nanoseconds begin, Nanoseconds end, Nanoseconds width,
             BinSums& sums);
}  // namespace stepcast::trace

#include "sim/timeline/lod/sweep_states.hpp"
