#include "calibrate/step/typical_steps.hpp"

#include <algorithm>
#include <numeric>

namespace stepcast::calibrate {

std::vector<std::size_t> typical_steps(const std::vector<std::vector<double>>& steps) {
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return steps[left].back() < steps[right].back();
  });
  const std::size_t cut = order.size() / 4;  // at each end
  return {order.begin() + static_cast<std::ptrdiff_t>(cut),
          order.end() - static_cast<std::ptrdiff_t>(cut)};
}

Summary summary_of_columns(const std::vector<std::vector<double>>& steps,
                           const std::vector<std::size_t>& columns,
                           const std::vector<std::size_t>& typical) {
  Sampler all(every_sample());
  for (const std::vector<double>& step : steps)
    for (const std::size_t column : columns) all.add(step[column]);
  double sum = 0;
  for (const std::size_t step : typical)
    for (const std::size_t column : columns) sum += steps[step][column];
  Summary summary = all.summary();
  summary.reason = "rounds between those of the whole step";
  if (!typical.empty())
    summary.trimmed_mean_s = sum / static_cast<double>(typical.size() * columns.size());
  return summary;
}
}  // namespace stepcast::calibrate
