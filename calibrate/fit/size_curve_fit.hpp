#pragma once
#include <utility>
#include <vector>

namespace stepcast {
/// One measurement: message bytes and seconds.
using SizeSample = std::pair<double, double>;

/// Smooth time against size through noisy samples: knots at powers of two from the smallest to the
/// largest sample. Model : T(S) = (alpha^p + (S/B)^p)^(1/p) x exp(r(log2 S)); alpha, B and p by
/// search, r a penalised spline of the residuals:
///         sum of squares at the samples + smoothness x (second differences squared + 0.05 x first
///         differences squared). Protocol switches live in r; in gaps r is as straight as it can
///         be.
/// Needs : at least one sample, positive; sizes may repeat. One or two distinct sizes come back as
/// they are (mean of logs). Source: Eilers and Marx, "Flexible smoothing with B-splines and
/// penalties", 1996.
std::vector<SizeSample> fit_size_curve(const std::vector<SizeSample>& samples,
                                       double smoothness = 0.01);
}  // namespace stepcast
