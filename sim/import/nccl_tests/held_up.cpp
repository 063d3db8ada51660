#include "sim/import/nccl_tests/held_up.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast::nccl_tests {

namespace {
using Point = std::pair<double, double>;
bool is_measured(const Point& p) { return p.first > 0 && p.second > 0; }  // no empty, unread row
/// Time of a buffer of `size` sent as pieces like `piece`, one after the other.
double in_pieces(double size, const Point& piece) {
  return std::max(1.0, std::ceil(size / piece.first - 1e-9)) * piece.second;
}
}  // namespace

std::vector<double> bounded_times(std::span<const std::pair<double, double>> points) {
  std::vector<double> least(points.size());
  // A piece's rate is the network's only up to the largest size that reaches it again: where it
  // never comes back, large buffers congest on their way and no piece tells what they need.
  std::vector<std::size_t> reached(points.size());
  for (std::size_t j = 0; j < points.size(); ++j) {
    reached[j] = j;
    for (std::size_t k = j + 1; k < points.size(); ++k)
      if (is_measured(points[k]) &&
          points[k].second <= kHeldUp * in_pieces(points[k].first, points[j]))
        reached[j] = k;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    least[i] = points[i].second;
    for (std::size_t j = 0; j < points.size(); ++j)
      if (is_measured(points[j]) && i <= reached[j])
        least[i] = std::min(least[i], in_pieces(points[i].first, points[j]));
  }
  return least;
}
}  // namespace stepcast::nccl_tests
