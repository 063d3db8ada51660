#pragma once
#include <atomic>
#include <vector>

#include "sim/timeline/lod/cell_sums.hpp"

namespace stepcast::trace {
/// Rows in groups of 1, 2, 4 ...; each group's time in bins and all their halvings.
struct LodPyramid::Levels {
  struct Level {
    std::size_t groups = 0, bins = 0;              // bins of its finest time level
    std::vector<std::vector<LodCell>> by_halving;  // [t]: groups x (bins >> t)
  };
  TracePtr trace;
  std::vector<LodRow> rows;
  std::vector<SliceCategory> state_of_op;
  std::vector<std::uint64_t> slices_before;  // of the rows before each, one more
  std::vector<Level> levels;
  Nanoseconds begin = 0, bin_width = 1;  // of the finest bins any level has
  std::size_t finest_bins = 1;
  std::atomic<bool> is_complete{true};

  void plan();
  void build(std::stop_token stop, int threads);

 private:
  BinSums build_group(std::size_t level, std::size_t group, const std::stop_token& stop,
                      int threads);
  void emit(std::size_t level, std::size_t group, BinSums sums);
};
}  // namespace stepcast::trace
