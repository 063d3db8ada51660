#include "sim/timeline/lod/counter_mip.hpp"

#include <algorithm>

namespace stepcast::trace {

CounterMip::CounterMip(const CounterSeries& series) : series_(&series) {
  std::vector<std::pair<double, double>> level;
  for (const double value : series.values) level.emplace_back(value, value);
  while (level.size() > 1) {
    std::vector<std::pair<double, double>> half((level.size() + 1) / 2);
    for (std::size_t i = 0; i < level.size(); ++i) {
      auto& to = half[i / 2];
      if (i % 2 == 0)
        to = level[i];
      else
        to = {std::min(to.first, level[i].first), std::max(to.second, level[i].second)};
    }
    levels_.push_back(half);
    level = std::move(half);
  }
}

std::vector<CounterColumn> CounterMip::columns(Nanoseconds begin, Nanoseconds end,
                                               int width) const {
  std::vector<CounterColumn> columns(static_cast<std::size_t>(std::max(0, width)));
  const auto& times = series_->times;
  const auto& values = series_->values;
  const auto border = [&](int x) {
    return begin + (end - begin) / width * x + (end - begin) % width * x / width;
  };
  std::size_t at =
      static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), begin) - times.begin());
  for (int x = 0; x < width; ++x) {
    CounterColumn& column = columns[static_cast<std::size_t>(x)];
    const auto next =
        static_cast<std::size_t>(std::lower_bound(times.begin() + static_cast<std::ptrdiff_t>(at),
                                                  times.end(), border(x + 1)) -
                                 times.begin());
    if (at > 0)
      column = {values[at - 1], values[at - 1], values[at - 1],
                true};  // what held when the column began
    const auto include = [&](double least, double most) {
      column.least = column.is_set ? std::min(column.least, least) : least;
      column.most = column.is_set ? std::max(column.most, most) : most;
      column.is_set = true;
    };
    for (std::size_t i = at; i < next;) {  // the largest aligned block that fits
      std::size_t level = 0;
      while (level < levels_.size() && i % (std::size_t{2} << level) == 0 &&
             i + (std::size_t{2} << level) <= next)
        ++level;
      if (level == 0)
        include(values[i], values[i]), ++i;
      else
        include(levels_[level - 1][i >> level].first, levels_[level - 1][i >> level].second),
            i += std::size_t{1} << level;
    }
    if (next > at) column.last = values[next - 1];
    at = next;
  }
  return columns;
}
}  // namespace stepcast::trace
