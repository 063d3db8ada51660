#include "sim/data/cache.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {
/// Integral of (k - x) / (1 - x) from `from` to `to`, both below 1.
double thinning_integral(double k, double from, double to) {
  return (to - from) + (1 - k) * std::log((1 - to) / (1 - from));
}

double lru_hit_share(double k, double seen, int nodes) {
  if (k >= 1) return seen;
  const double end = 1.0 / nodes;
  // Up to here the cache is not full of older samples: all that the node ever read is there.
  const double full_from = seen < 1 ? std::clamp(1 - (1 - k) / (1 - seen), 0.0, end) : 0;
  const double empty_from = std::clamp(k, full_from, end);
  return nodes * (seen * full_from + thinning_integral(k, full_from, empty_from));
}
}  // namespace

double cache_hit_share(const DataSpec& data, int nodes) {
  if (data.epoch <= 1 || data.cache.bytes <= 0) return 0;
  const bool is_fixed = data.sharding == EpochSharding::fixed;
  const double own = data.dataset_samples * data.sample_bytes / (is_fixed ? nodes : 1);
  if (own <= 0) return 0;
  const int readers = is_fixed ? 1 : nodes;
  const double k = std::min(1.0, data.cache.bytes / own),
               seen = 1 - std::pow(1 - 1.0 / readers, data.epoch - 1);
  if (data.cache.policy == CachePolicy::pinned) return std::min(k, seen);
  return std::clamp(lru_hit_share(k, seen, readers), 0.0, 1.0);
}
}  // namespace stepcast
