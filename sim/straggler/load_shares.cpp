#include "sim/straggler/load_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/core/assert.hpp"

namespace stepcast {

std::vector<double> load_shares(const std::vector<double>& slowdowns, std::int64_t total) {
  const auto n = static_cast<std::int64_t>(slowdowns.size());
  STEPCAST_ASSERT(n > 0 && total >= n, "the caller has a sample for every replica");
  double speeds = 0;
  for (const double s : slowdowns) speeds += 1 / s;
  std::vector<std::int64_t> samples;
  for (const double s : slowdowns)
    samples.push_back(std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(total) / s / speeds)));
  // Samples left (or too many) one by one to where they hurt least: the replica that would finish
  // first (take: last).
  std::int64_t left = total - std::accumulate(samples.begin(), samples.end(), std::int64_t{0});
  const auto finish = [&](std::size_t i, std::int64_t change) {
    return static_cast<double>(samples[i] + change) * slowdowns[i];
  };
  for (; left != 0; left += left > 0 ? -1 : 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < samples.size(); ++i) {
      const bool is_better =
          left > 0 ? finish(i, 1) < finish(best, 1)
                   : (samples[i] > 1 && (samples[best] == 1 || finish(i, 0) > finish(best, 0)));
      if (is_better) best = i;
    }
    samples[best] += left > 0 ? 1 : -1;
  }
  std::vector<double> shares;
  for (const std::int64_t s : samples)
    shares.push_back(static_cast<double>(s) * static_cast<double>(n) / static_cast<double>(total));
  return shares;
}
}  // namespace stepcast
