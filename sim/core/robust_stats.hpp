#pragma once
#include <span>
#include <vector>

namespace stepcast {
/// Linear-interpolated quantile (Hyndman-Fan type 7) of unsorted values; q in [0, 1]; empty gives
/// NaN.
double quantile(std::span<const double> values, double q);
double median(std::span<const double> values);
double mean(std::span<const double> values);
/// Spearman rank correlation with average ranks for ties; NaN for fewer than two pairs or constant
/// input.
double rank_correlation(std::span<const double> a, std::span<const double> b);
}  // namespace stepcast
