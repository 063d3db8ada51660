#include "sim/import/common/intervals.hpp"

#include <algorithm>

namespace stepcast {
const std::vector<std::pair<Nanoseconds, Nanoseconds>>& Intervals::merged() const {
  if (is_merged_) return raw_;
  std::sort(raw_.begin(), raw_.end());
  std::size_t last = 0;
  for (std::size_t i = 1; i < raw_.size(); ++i) {
    if (raw_[i].first <= raw_[last].second)
      raw_[last].second = std::max(raw_[last].second, raw_[i].second);
    else
      raw_[++last] = raw_[i];
  }
  raw_.resize(last + 1);
  is_merged_ = true;
  return raw_;
}
std::int64_t Intervals::length() const {
  std::int64_t sum = 0;
  for (const auto& [start, end] : merged()) sum += end - start;
  return sum;
}
std::int64_t Intervals::overlap_with(const Intervals& other) const {
  const auto &a = merged(), &b = other.merged();
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const auto low = std::max(a[i].first, b[j].first), high = std::min(a[i].second, b[j].second);
    if (high > low) sum += high - low;
    if (a[i].second < b[j].second)
      ++i;
    else
      ++j;
  }
  return sum;
}
}  // namespace stepcast
