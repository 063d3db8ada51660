#pragma once
#include <functional>
#include <vector>

namespace stepcast {
/// One searched parameter: start and range; steps multiply, so the range must be positive.
struct SearchedParameter {
  double start, min, max;
};

/// Coordinate-wise pattern search over positive parameters in log space: each is multiplied and
/// divided by a factor that shrinks from 2 to 1.01 as no move helps. Deterministic; needs no
/// derivatives, so |log error| losses are fine. Source: Hooke and Jeeves, "Direct search", 1961.
std::vector<double> pattern_search(const std::vector<SearchedParameter>& parameters,
                                   const std::function<double(const std::vector<double>&)>& loss);
}  // namespace stepcast
