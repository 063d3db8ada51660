#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/units.hpp"

namespace stepcast {
/// A set of moments as disjoint, sorted, half-open intervals.
class Intervals {
 public:
  void add(Nanoseconds start, Nanoseconds end) {
    if (end > start) raw_.emplace_back(start, end), is_merged_ = false;
  }
  const std::vector<std::pair<Nanoseconds, Nanoseconds>>& merged() const;
  std::int64_t length() const;
  std::int64_t overlap_with(const Intervals& other) const;
  std::int64_t length_outside(const Intervals& other) const {
    return length() - overlap_with(other);
  }
  bool empty() const { return raw_.empty(); }

 private:
  mutable std::vector<std::pair<Nanoseconds, Nanoseconds>> raw_;
  mutable bool is_merged_ = true;
};
}  // namespace stepcast
