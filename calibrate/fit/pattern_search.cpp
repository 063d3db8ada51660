#include "calibrate/fit/pattern_search.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
std::vector<double> pattern_search(const std::vector<SearchedParameter>& parameters,
                                   const std::function<double(const std::vector<double>&)>& loss) {
  std::vector<double> best;
  for (const SearchedParameter& parameter : parameters) best.push_back(parameter.start);
  double best_loss = loss(best);
  for (double factor = 2.0; factor > 1.01; factor = std::sqrt(factor)) {
    bool has_moved = true;
    for (int round = 0; has_moved && round < 20; ++round) {
      has_moved = false;
      for (std::size_t p = 0; p < parameters.size(); ++p)
        for (const double scale : {factor, 1 / factor}) {
          std::vector<double> tried = best;
          tried[p] = std::clamp(tried[p] * scale, parameters[p].min, parameters[p].max);
          const double tried_loss = loss(tried);
          if (tried_loss < best_loss) {
            best = tried;
            best_loss = tried_loss;
            has_moved = true;
          }
        }
    }
  }
  return best;
}
}  // namespace stepcast
