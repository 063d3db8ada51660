#pragma once
#include <span>
#include <vector>

#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::trace {
/// Smallest and largest value of a counter in each pixel column of a window; a column before the
/// first value has is_set false.
struct CounterColumn {
  double least = 0, most = 0, last = 0;
  bool is_set = false;
};
/// Halvings of a series (minimum and maximum of 2, 4, 8 ... values), so that a drawing costs
/// columns x log(values).
class CounterMip {
 public:
  explicit CounterMip(const CounterSeries& series);
  std::vector<CounterColumn> columns(Nanoseconds begin, Nanoseconds end, int width) const;

 private:
  const CounterSeries* series_;  // outlives the mip
  std::vector<std::vector<std::pair<double, double>>> levels_;
};
}  // namespace stepcast::trace
