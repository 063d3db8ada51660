#include "sim/report/chart/stroke_font.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <sstream>

namespace stepcast {
namespace {
/// Drawn for this project, one glyph a line: advance, then strokes.
///   M x y       begin a stroke      L x y   line to
///   A cx cy rx ry from to           arc in degrees, counter-clockwise from the right; joined to
///   the stroke so far
constexpr std::array<const char*, 95> kGlyphs{
    /*   */ "4",
    /* ! */ "3 M1.5 10 L1.5 3 M1.5 0.6 L1.5 0",
    /* " */ "4.5 M1.2 10 L1.2 7 M3.2 10 L3.2 7",
    /* # */ "8 M3 9.5 L1.8 0.5 M6.2 9.5 L5 0.5 M0.8 6.5 L7.4 6.5 M0.5 3.3 L7 3.3",
    /* $ */
    "7 M5.8 8 A3.5 7.4 2.4 2.1 30 180 A3.5 7.3 2.4 2.2 180 270 A3.5 2.8 2.5 2.3 90 0 A3.5 2.8 2.5 "
    "2.3 0 -150 M3.5 11 L3.5 -1",
    /* % */ "9.5 M7.6 10 L1.8 0 M3.9 7.6 A2.3 7.6 1.7 2.3 0 360 M8.8 2.4 A7.1 2.4 1.7 2.3 0 360",
    /* & */
    "8.5 M8 0 L2.2 6.8 A3.4 8 1.8 2 210 -45 A3.2 2.7 2.6 2.7 120 270 A3.2 3.5 4.2 3.5 -90 10",
    /* ' */ "2.5 M1.2 10 L1.2 7",
    /* ( */ "4 M3.4 11 A5 4.5 4 6.8 108 252",
    /* ) */ "4 M0.6 11 A-1 4.5 4 6.8 72 -72",
    /* * */ "6 M3 9 L3 4 M0.8 7.8 L5.2 5.2 M0.8 5.2 L5.2 7.8",
    /* + */ "7.5 M3.7 7.5 L3.7 1.5 M0.7 4.5 L6.7 4.5",
    /* , */ "3 M1.6 0.8 L1.6 0 L0.9 -1.8",
    /* - */ "5 M0.8 4.2 L4.2 4.2",
    /* . */ "3 M1.5 0.5 L1.5 0",
    /* / */ "5 M4.4 10.5 L0.4 -1",
    /* 0 */ "7 M6.2 5 A3.5 5 2.7 5 0 360",
    /* 1 */ "7 M1.5 8 L4 10 L4 0",
    /* 2 */ "7 M0.9 7.4 A3.5 7.3 2.6 2.7 180 -35 L0.8 0 L6.3 0",
    /* 3 */ "7 M1 8.2 A3.4 7.6 2.4 2.4 155 -90 M2.6 5.2 L3.4 5.2 A3.4 2.7 2.7 2.6 90 -155",
    /* 4 */ "7 M5 0 L5 10 L0.6 3 L6.6 3",
    /* 5 */ "7 M5.9 10 L1.6 10 L1.1 5.4 A3.4 3.2 2.8 3.2 130 -145",
    /* 6 */ "7 M5.6 9.2 A3.8 5.5 3 4.5 70 180 A3.5 3.1 2.7 3.1 180 540",
    /* 7 */ "7 M0.8 10 L6.3 10 L2.6 0",
    /* 8 */ "7 M5.8 7.6 A3.5 7.6 2.3 2.4 0 360 M6.2 2.6 A3.5 2.6 2.7 2.6 0 360",
    /* 9 */ "7 M1.4 0.8 A3.2 4.5 3 4.5 -110 0 A3.5 6.9 2.7 3.1 0 360",
    /* : */ "3 M1.5 6.5 L1.5 6 M1.5 0.5 L1.5 0",
    /* ; */ "3 M1.5 6.5 L1.5 6 M1.6 0.8 L1.6 0 L0.9 -1.8",
    /* < */ "7.5 M6.6 8 L0.8 4.5 L6.6 1",
    /* = */ "7.5 M0.7 6 L6.7 6 M0.7 3 L6.7 3",
    /* > */ "7.5 M0.8 8 L6.6 4.5 L0.8 1",
    /* ? */ "6 M0.8 7.6 A3 7.5 2.3 2.5 180 -40 L3 4 L3 3 M3 0.6 L3 0",
    /* @ */
    "11 M8 5.8 A5.7 4.2 2.2 2.4 45 315 M7.9 6.6 L7.9 3 A9 3 1.1 1.4 180 340 A5.5 4 4.7 5 -15 300",
    /* A */ "8 M0.4 0 L4 10 L7.6 0 M1.7 3.4 L6.3 3.4",
    /* B */
    "8 M1.2 0 L1.2 10 L4 10 A4 7.6 2.5 2.4 90 -90 L1.2 5.2 M4 5.2 A4.2 2.6 2.8 2.6 90 -90 L1.2 0",
    /* C */ "8.5 M7.7 8 A4.6 5 3.8 5 37 323",
    /* D */ "8.5 M1.2 0 L1.2 10 L3.6 10 A3.6 5 4.2 5 90 -90 L1.2 0",
    /* E */ "7.5 M6.8 10 L1.2 10 L1.2 0 L6.9 0 M1.2 5.2 L6.2 5.2",
    /* F */ "7 M6.6 10 L1.2 10 L1.2 0 M1.2 5.2 L5.8 5.2",
    /* G */ "9 M7.8 8 A4.6 5 3.8 5 37 360 L8.4 4.8 L5.2 4.8",
    /* H */ "8.5 M1.2 0 L1.2 10 M7.3 0 L7.3 10 M1.2 5.2 L7.3 5.2",
    /* I */ "3 M1.5 0 L1.5 10",
    /* J */ "6 M4.8 10 L4.8 2.6 A2.7 2.6 2.1 2.6 0 -180",
    /* K */ "8 M1.2 0 L1.2 10 M7.2 10 L1.2 3.6 M3.4 6 L7.5 0",
    /* L */ "6.5 M1.2 10 L1.2 0 L6.2 0",
    /* M */ "9.5 M1.2 0 L1.2 10 L4.75 2 L8.3 10 L8.3 0",
    /* N */ "8.5 M1.2 0 L1.2 10 L7.3 0 L7.3 10",
    /* O */ "9.2 M8.4 5 A4.6 5 3.8 5 0 360",
    /* P */ "7.5 M1.2 0 L1.2 10 L4 10 A4 7.3 2.8 2.7 90 -90 L1.2 4.6",
    /* Q */ "9.2 M8.4 5 A4.6 5 3.8 5 0 360 M5.4 2.2 L8.2 -0.8",
    /* R */ "8 M1.2 0 L1.2 10 L4.1 10 A4.1 7.4 2.7 2.6 90 -90 L1.2 4.8 M4.4 4.8 L7.3 0",
    /* S */
    "7.5 M6.5 8.2 A3.7 7.5 2.6 2.5 30 180 A3.7 7.4 2.6 2.2 180 270 A3.7 2.7 2.9 2.5 90 0 A3.7 2.7 "
    "2.9 2.7 0 -155",
    /* T */ "7.5 M0.4 10 L7.1 10 M3.75 10 L3.75 0",
    /* U */ "8.5 M1.2 10 L1.2 3.4 A4.2 3.4 3 3.4 180 360 L7.2 10",
    /* V */ "7.8 M0.4 10 L3.9 0 L7.4 10",
    /* W */ "11 M0.4 10 L3 0 L5.5 9 L8 0 L10.6 10",
    /* X */ "7.8 M0.6 10 L7.2 0 M7.2 10 L0.6 0",
    /* Y */ "7.6 M0.4 10 L3.8 5 L7.2 10 M3.8 5 L3.8 0",
    /* Z */ "7.5 M0.8 10 L6.8 10 L0.6 0 L7 0",
    /* [ */ "4 M3.2 11 L1.2 11 L1.2 -1.5 L3.2 -1.5",
    /* \ */ "5 M0.6 10.5 L4.6 -1",
    /* ] */ "4 M0.8 11 L2.8 11 L2.8 -1.5 L0.8 -1.5",
    /* ^ */ "6 M0.8 6.5 L3 10 L5.2 6.5",
    /* _ */ "6.5 M0.2 -1.5 L6.3 -1.5",
    /* ` */ "3.5 M1 10.5 L2.4 8.5",
    /* a */ "7 M5.8 7 L5.8 0 M5.8 5 A3.3 3.5 2.6 3.5 25 335",
    /* b */ "7.2 M1.2 10 L1.2 0 M1.2 5 A3.8 3.5 2.7 3.5 155 -155",
    /* c */ "6.3 M5.6 5.6 A3.4 3.5 2.7 3.5 38 322",
    /* d */ "7.2 M6 10 L6 0 M6 5 A3.4 3.5 2.7 3.5 25 335",
    /* e */ "6.9 M0.8 3.6 L6.1 3.6 A3.5 3.5 2.7 3.5 0 315",
    /* f */ "4.2 M4 9.8 A3.6 7.9 1.7 2 85 180 L1.9 0 M0.5 6.8 L3.8 6.8",
    /* g */ "7.2 M6 7 L6 0.2 A3.5 -0.4 2.5 2.5 0 -150 M6 5 A3.4 3.5 2.7 3.5 25 335",
    /* h */ "7 M1.2 10 L1.2 0 M1.2 4.4 A3.6 4.4 2.3 2.6 180 0 L5.9 0",
    /* i */ "2.8 M1.4 7 L1.4 0 M1.4 9.8 L1.4 9.3",
    /* j */ "3 M1.7 7 L1.7 -0.9 A0.2 -0.9 1.5 2 0 -80 M1.7 9.8 L1.7 9.3",
    /* k */ "6.5 M1.2 10 L1.2 0 M5.6 7 L1.2 2.6 M2.9 4.3 L6 0",
    /* l */ "2.8 M1.4 10 L1.4 0",
    /* m */
    "10.6 M1.2 7 L1.2 0 M1.2 4.4 A3.3 4.5 2 2.5 180 0 L5.3 0 M5.3 4.4 A7.4 4.5 2 2.5 180 0 L9.4 0",
    /* n */ "7 M1.2 7 L1.2 0 M1.2 4.4 A3.6 4.4 2.3 2.6 180 0 L5.9 0",
    /* o */ "7 M6.2 3.5 A3.5 3.5 2.7 3.5 0 360",
    /* p */ "7.2 M1.2 7 L1.2 -3 M1.2 5 A3.8 3.5 2.7 3.5 155 -155",
    /* q */ "7.2 M6 7 L6 -3 M6 5 A3.4 3.5 2.7 3.5 25 335",
    /* r */ "4.6 M1.2 7 L1.2 0 M1.2 4.2 A3.6 4.3 2.3 2.6 180 80",
    /* s */
    "6 M5.2 5.7 A3 5.2 2.1 1.8 30 180 A3 5.2 2.1 1.6 180 270 A3 1.9 2.2 1.7 90 0 A3 1.9 2.2 1.9 0 "
    "-155",
    /* t */ "4.2 M1.9 9.2 L1.9 1.8 A3.5 1.8 1.6 1.8 180 285 M0.5 6.8 L3.8 6.8",
    /* u */ "7 M1.1 7 L1.1 2.6 A3.4 2.6 2.3 2.6 180 360 L5.7 7 M5.7 2.6 L5.7 0",
    /* v */ "6.2 M0.5 7 L3.1 0 L5.7 7",
    /* w */ "9 M0.5 7 L2.6 0 L4.5 6.4 L6.4 0 L8.5 7",
    /* x */ "6.2 M0.6 7 L5.6 0 M5.6 7 L0.6 0",
    /* y */ "6.2 M0.5 7 L3.1 0 M5.7 7 L2.6 -1.6 L1.8 -2.8 L0.8 -3",
    /* z */ "6 M0.7 7 L5.3 7 L0.6 0 L5.5 0",
    /* { */
    "4.5 M3.8 11 A3.4 9.6 1.2 1.4 80 180 L2.2 6 L1 4.8 L2.2 3.6 L2.2 0 A3.4 -0.1 1.2 1.4 180 280",
    /* | */ "3 M1.5 11 L1.5 -2",
    /* } */
    "4.5 M0.7 11 A1.1 9.6 1.2 1.4 100 0 L2.3 6 L3.5 4.8 L2.3 3.6 L2.3 0 A1.1 -0.1 1.2 1.4 0 -100",
    /* ~ */ "7.5 M0.8 3.8 A2.3 4 1.5 1.4 190 20 L4.2 4.2 A5.2 5 1.5 1.4 210 350"};

Glyph glyph_from(const std::string& text) {
  constexpr double kStep = 12;       // degrees per piece of an arc
  constexpr double kTracking = 0.5;  // air between letters that a stroke of this width wants
  Glyph glyph;
  std::istringstream in(text);
  in >> glyph.advance;
  glyph.advance += kTracking;
  char command = 0;
  while (in >> command) {
    if (command == 'A') {
      double cx = 0, cy = 0, rx = 0, ry = 0, from = 0, to = 0;
      in >> cx >> cy >> rx >> ry >> from >> to;
      const int pieces = static_cast<int>(std::ceil(std::abs(to - from) / kStep));
      for (int i = 0; i <= pieces; ++i) {
        const double angle = (from + (to - from) * i / pieces) * std::numbers::pi / 180;
        glyph.strokes.back().push_back({cx + rx * std::cos(angle), cy + ry * std::sin(angle)});
      }
      continue;
    }
    double x = 0, y = 0;
    in >> x >> y;
    if (command == 'M') glyph.strokes.emplace_back();
    glyph.strokes.back().push_back({x, y});
  }
  return glyph;
}

std::vector<Glyph> all_glyphs() {
  std::vector<Glyph> glyphs;
  for (const char* text : kGlyphs) glyphs.push_back(glyph_from(text));
  glyphs.push_back(glyph_from("7 M1 0 L1 9 L6 9 L6 0 L1 0"));
  return glyphs;
}
}  // namespace

const Glyph& glyph_of(char c) {
  static const std::vector<Glyph> glyphs = all_glyphs();
  const auto code = static_cast<unsigned char>(c);
  return code >= 32 && code < 127 ? glyphs[code - 32u] : glyphs.back();
}

double text_width(const std::string& text, double size) {
  double units = 0;
  for (const char c : text) units += glyph_of(c).advance;
  return units * size / kFontUnitsPerSize;
}
}  // namespace stepcast
