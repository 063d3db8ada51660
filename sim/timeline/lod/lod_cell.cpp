#include <algorithm>
#include <cmath>

#include "sim/timeline/lod/cell_sums.hpp"

namespace stepcast::trace {

LodCell cell_of(std::span<const CategorySum> sums, double area) {
  const CategorySum *first = nullptr, *second = nullptr;
  double total = 0;
  for (const CategorySum& sum : sums) {
    if (sum.time <= 0) continue;
    total += sum.time;
    if (first == nullptr || sum.time > first->time)
      second = first, first = &sum;
    else if (second == nullptr || sum.time > second->time)
      second = &sum;
  }
  if (first == nullptr) return 0;
  for (const CategorySum& sum : sums)
    if (sum.time > 0 && is_rare(sum.category) && &sum != first &&
        (second == nullptr || !is_rare(second->category) || sum.time > second->time))
      second = &sum;
  // Lanes drawn over each other may hold more than the area.
  const double scale = 15.0 / std::max(area, total);
  // Whatever is there at all is seen: a fifteenth at least.
  const auto part = [scale](double time) { return static_cast<int>(time * scale + 0.5); };
  int first_part = std::max(1, part(first->time));
  int second_part = second == nullptr ? 0 : part(second->time);
  if (second != nullptr && is_rare(second->category)) {
    second_part = std::max(1, second_part);
    first_part = std::min(first_part, 15 - second_part);
    first_part = std::max(1, first_part);
  }
  second_part = std::min(second_part, 15 - first_part);
  return lod_cell(first->category, first_part, second_part > 0 ? second->category : SliceCategory{},
                  second_part);
}

std::vector<std::uint32_t> cell_colours(std::span<const Rgb, kSliceCategories> palette,
                                        Rgb background, Reduction reduction) {
  std::vector<std::uint32_t> colours(65536);
  for (unsigned bits = 0; bits < colours.size(); ++bits) {
    const auto cell = static_cast<LodCell>(bits);
    double first = first_share(cell), second = second_share(cell);
    const SliceCategory a = first_category(cell), b = second_category(cell);
    if (first + second > 15) second = 15 - first;  // no cell_of makes such a cell
    if (reduction == Reduction::dominant) {
      const bool is_second = second > first || (second > 0 && is_rare(b));
      first = is_second ? 0 : first > 0 ? 15 : 0;
      second = is_second ? 15 : 0;
    }
    if (second > 0 && is_rare(b))
      second = std::max(second, 7.5), first = std::min(first, 15 - second);
    if (first > 0 && is_rare(a))
      first = std::max(first, 7.5), second = std::min(second, 15 - first);
    const double rest = 15 - first - second;
    const auto blend = [&](std::uint8_t Rgb::*channel) {
      const double value =
          (first * palette[static_cast<std::size_t>(a)].*channel +
           second * palette[static_cast<std::size_t>(b)].*channel + rest * background.*channel) /
          15;
      return static_cast<std::uint32_t>(std::lround(value));
    };
    colours[bits] = 0xFF000000U | blend(&Rgb::r) << 16 | blend(&Rgb::g) << 8 | blend(&Rgb::b);
  }
  return colours;
}
}  // namespace stepcast::trace
