#pragma once
#include <string>
#include <vector>

#include "sim/report/chart/canvas.hpp"

namespace stepcast {
/// A glyph as strokes in font units: capitals are 10 high, small letters 7, y upwards from the
/// baseline.
struct Glyph {
  double advance = 7;
  std::vector<std::vector<Point>> strokes;
};
/// Glyph of a printable ASCII character; others are drawn as an empty box.
const Glyph& glyph_of(char c);
inline constexpr double kFontUnitsPerSize = 14;  // a font size of 14 draws capitals 10 high
}  // namespace stepcast
