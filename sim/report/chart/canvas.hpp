#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// What a chart draws on: one description, two formats. Pixels, origin top left, y downwards.
namespace stepcast {
struct Point {
  double x = 0, y = 0;
};
struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;
};
struct Stroke {
  Colour colour;
  double width = 1;
  double dash = 0; /* length of dash and gap; 0 = solid */
};
enum class Anchor { start, middle, end };

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void polyline(const std::vector<Point>& points, const Stroke& stroke) = 0;
  virtual void disc(Point centre, double radius, Colour fill) = 0;
  virtual void rectangle(Point corner, double width, double height, Colour fill) = 0;
  /// Baseline at `at`; `size` is the height of capitals times 1.4, as CSS font sizes run.
  /// is_vertical: read bottom to top.
  virtual void text(Point at, const std::string& text, double size, Colour colour, Anchor anchor,
                    bool is_bold = false, bool is_vertical = false) = 0;
  /// The whole file's bytes.
  virtual std::string finished() const = 0;
};
std::unique_ptr<Canvas> make_svg_canvas(int width, int height);
std::unique_ptr<Canvas> make_png_canvas(int width, int height);
/// Width of a text in the stroke font, which both formats lay out by.
double text_width(const std::string& text, double size);
}  // namespace stepcast
