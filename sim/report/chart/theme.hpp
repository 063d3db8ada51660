#pragma once
#include <array>

#include "sim/report/chart/canvas.hpp"

/// What all charts share: width, ink, and the colours of series.
namespace stepcast::chart_theme {
inline constexpr double kWidth = 960;  // pixels
inline constexpr Colour kInk{33, 37, 41}, kSoft{108, 117, 125}, kGrid{226, 230, 234},
    kAxis{134, 142, 150}, kGround{255, 255, 255};
// Okabe and Ito's colours, told apart by colour-blind readers as well ("Color universal design",
// 2008).
inline constexpr std::array<Colour, 7> kColours{{{0, 114, 178},
                                                 {213, 94, 0},
                                                 {0, 158, 115},
                                                 {204, 121, 167},
                                                 {230, 159, 0},
                                                 {86, 180, 233},
                                                 {90, 90, 90}}};
inline constexpr double kOtherFonts = 1.12;  // what draws an SVG may have a wider font than ours
}  // namespace stepcast::chart_theme
