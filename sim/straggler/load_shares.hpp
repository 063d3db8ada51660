#pragma once
#include <cstdint>
#include <vector>

namespace stepcast {
/// Whole samples for each replica in proportion to its speed (1 / slowdown), `total` together, at
/// least one each: what makes the latest replica finish earliest. Largest remainders get the
/// samples that rounding leaves. Returns samples over the even share, so 1 = as before. Needs total
/// >= replicas.
std::vector<double> load_shares(const std::vector<double>& slowdowns, std::int64_t total);
}  // namespace stepcast
