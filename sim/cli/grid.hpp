#pragma once
#include <string>
#include <vector>

namespace stepcast {
/// One --vary: a JSON pointer and the values it takes, as texts for --set.
struct Variation {
  std::string pointer;
  std::vector<std::string> values;
};

/// "/cluster/nodes=1,2,4", "/cluster/nodes=1..8" (every whole number) or "/cluster/nodes=1..1024*2"
/// (each times 2). Commas inside brackets, braces or quotes belong to a value. Throws InputError.
Variation variation_of(const std::string& text);

/// A point of the grid: one value per variation, in their order.
using GridPoint = std::vector<std::string>;
/// The product of all values, the last variation fastest. Throws InputError above `kLargestGrid`
/// points.
std::vector<GridPoint> grid_of(const std::vector<Variation>& variations);
inline constexpr std::size_t kLargestGrid = 1'000'000;

/// The --set texts of a point.
std::vector<std::string> settings_of(const std::vector<Variation>& variations,
                                     const GridPoint& point);
}  // namespace stepcast
