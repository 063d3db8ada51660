#pragma once
#include <algorithm>
#include <vector>

namespace stepcast {
/// What one of `count` equal takers can use of a resource.
struct Demand {
  double most = 0, count = 1;
};
/// The max-min fair level of a resource that is asked for more than its capacity: whoever wants
/// less gets that, all others get the level.
/// Model : water filling; demands in ascending order are met while they stay below an even share of
///         what is left.
inline double fair_level(std::vector<Demand> demands, double capacity) {
  const auto is_less = [](const Demand& a, const Demand& b) { return a.most < b.most; };
  // Equal takers, the usual case, are in order.
  if (!std::is_sorted(demands.begin(), demands.end(), is_less))
    std::sort(demands.begin(), demands.end(), is_less);
  double takers = 0;
  for (const Demand& d : demands) takers += d.count;
  for (const Demand& d : demands) {
    const double even = capacity / takers;
    if (d.most >= even) return even;
    capacity -= d.most * d.count;
    takers -= d.count;
  }
  return demands.empty() ? capacity : demands.back().most;
}
}  // namespace stepcast
