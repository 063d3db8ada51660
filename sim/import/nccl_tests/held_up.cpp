#include "sim/import/nccl_tests/held_up.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace stepcast::nccl_tests {

namespace {
using Point = std::pair<double, double>;
bool is_measured(const Point& p) { return p.first > 0 && p.second > 0; }  // no empty, unread row
/// Time of a buffer of `size` sent as pieces like `piece`, one after the other.
double in_pieces(double size, const Point& piece) {
  return std::max(1.0, std::ceil(size / piece.first - 1e-9)) * piece.second;
}
/// The points whose rate can bound larger ones: the fastest of each eighth of an octave, so that a
/// sweep of very many sizes is judged in time that grows with their number only.
std::vector<std::size_t> pieces_of(std::span<const Point> points) {
  std::map<long, std::size_t> fastest;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_measured(points[i])) continue;
    const auto [it, is_new] = fastest.try_emplace(std::lround(8 * std::log2(points[i].first)), i);
    const Point& old = points[it->second];
    if (!is_new && points[i].second * old.first < old.second * points[i].first) it->second = i;
  }
  std::vector<std::size_t> pieces;
  for (const auto& [octave, i] : fastest) pieces.push_back(i);
  return pieces;
}
}  // namespace

std::vector<double> bounded_times(std::span<const std::pair<double, double>> points) {
  std::vector<double> least(points.size());
  double larger = std::numeric_limits<double>::infinity();  // least time of a larger buffer
  for (std::size_t i = points.size(); i-- > 0;) {
    least[i] = std::min(points[i].second, larger);
    if (is_measured(points[i])) larger = least[i];
  }
  for (const std::size_t j : pieces_of(points)) {
    // A piece's rate is the network's only up to the largest size that reaches it again: where it
    // never comes back, large buffers congest on their way and no piece tells what they need.
    std::size_t reached = points.size() - 1;
    while (reached > j &&
           !(is_measured(points[reached]) &&
             points[reached].second <= kHeldUp * in_pieces(points[reached].first, points[j])))
      --reached;
    for (std::size_t i = j + 1; i <= reached; ++i)
      least[i] = std::min(least[i], in_pieces(points[i].first, points[j]));
  }
  return least;
}
}  // namespace stepcast::nccl_tests
