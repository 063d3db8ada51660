#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/report/chart/canvas.hpp"
#include "sim/report/chart/png.hpp"
#include "sim/report/chart/stroke_font.hpp"

namespace stepcast {
namespace {
constexpr int kScale = 2;  // pixels per canvas unit: sharp on screens and in print

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double length2 = dx * dx + dy * dy;
  const double t =
      length2 > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length2, 0.0, 1.0) : 0.0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// The dashes of a polyline as polylines of their own; arc length runs on across corners.
std::vector<std::vector<Point>> dashes_of(const std::vector<Point>& points, double dash) {
  std::vector<std::vector<Point>> dashes;
  double left = dash;
  bool is_on = true;
  if (!points.empty()) dashes.push_back({points[0]});
  for (std::size_t i = 1; i < points.size(); ++i) {
    Point at = points[i - 1];
    double length = std::hypot(points[i].x - at.x, points[i].y - at.y);
    while (length > left) {
      const double f = left / length;
      at = {at.x + f * (points[i].x - at.x), at.y + f * (points[i].y - at.y)};
      if (is_on)
        dashes.back().push_back(at);
      else
        dashes.push_back({at});
      is_on = !is_on;
      length -= left;
      left = dash;
    }
    left -= length;
    if (is_on) dashes.back().push_back(points[i]);
  }
  return dashes;
}

/// Shapes become coverage (0 to 1 per pixel), coverage becomes a blend with what lies below:
/// anti-aliased, and a stroke that crosses itself is not darker at the crossing.
class PngCanvas final : public Canvas {
 public:
  PngCanvas(int width, int height)
      : width_(width * kScale),
        height_(height * kScale),
        pixels_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_) * 3, 255),
        coverage_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), 0.0F) {}

  void polyline(const std::vector<Point>& points, const Stroke& stroke) override {
    if (stroke.dash <= 0)
      cover_polyline(points, stroke.width);
    else
      for (const auto& dash : dashes_of(points, stroke.dash)) cover_polyline(dash, stroke.width);
    blend(stroke.colour);
  }
  void disc(Point centre, double radius, Colour fill) override {
    cover_polyline({centre}, 2 * radius);
    blend(fill);
  }
  void rectangle(Point corner, double width, double height, Colour fill) override {
    const double left = corner.x * kScale, top = corner.y * kScale, right = left + width * kScale,
                 bottom = top + height * kScale;
    for_box(left, top, right, bottom, [&](int x, int y, float& cover) {
      const double across = std::min(right, x + 1.0) - std::max(left, static_cast<double>(x));
      const double down = std::min(bottom, y + 1.0) - std::max(top, static_cast<double>(y));
      cover = static_cast<float>(std::max(0.0, across) * std::max(0.0, down));
    });
    blend(fill);
  }
  void text(Point at, const std::string& text, double size, Colour colour, Anchor anchor,
            bool is_bold, bool is_vertical) override {
    const double unit = size / kFontUnitsPerSize;
    double along = anchor == Anchor::start
                       ? 0
                       : -text_width(text, size) * (anchor == Anchor::middle ? 0.5 : 1.0);
    for (const char c : text) {
      const Glyph& glyph = glyph_of(c);
      for (const auto& stroke : glyph.strokes) {
        std::vector<Point> placed;
        for (const Point& p : stroke) {
          const double x = along + p.x * unit, y = -p.y * unit;
          placed.push_back(is_vertical ? Point{at.x + y, at.y - x} : Point{at.x + x, at.y + y});
        }
        cover_polyline(placed, size * (is_bold ? 0.125 : 0.08));
      }
      along += glyph.advance * unit;
    }
    blend(colour);
  }
  std::string finished() const override { return png_of(width_, height_, pixels_); }

 private:
  template <class Visit>
  void for_box(double left, double top, double right, double bottom, Visit visit) {
    const int x0 = std::clamp(static_cast<int>(std::floor(left)), 0, width_),
              x1 = std::clamp(static_cast<int>(std::ceil(right)), 0, width_);
    const int y0 = std::clamp(static_cast<int>(std::floor(top)), 0, height_),
              y1 = std::clamp(static_cast<int>(std::ceil(bottom)), 0, height_);
    if (x0 >= x1 || y0 >= y1) return;
    touched_left_ = std::min(touched_left_, x0);
    touched_right_ = std::max(touched_right_, x1);
    touched_top_ = std::min(touched_top_, y0);
    touched_bottom_ = std::max(touched_bottom_, y1);
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x)
        visit(x, y,
              coverage_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                        static_cast<std::size_t>(x)]);
  }
  void cover_segment(Point a, Point b, double half_width) {
    const double reach = half_width + 1;
    for_box(std::min(a.x, b.x) - reach, std::min(a.y, b.y) - reach, std::max(a.x, b.x) + reach,
            std::max(a.y, b.y) + reach, [&](int x, int y, float& cover) {
              const double distance = distance_to_segment({x + 0.5, y + 0.5}, a, b);
              cover = std::max(
                  cover, static_cast<float>(std::clamp(half_width + 0.5 - distance, 0.0, 1.0)));
            });
  }
  void cover_polyline(const std::vector<Point>& points, double width) {
    const double half_width = width * kScale / 2;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point& a = points[i == 0 ? 0 : i - 1];
      if (i > 0 || points.size() == 1)
        cover_segment({a.x * kScale, a.y * kScale}, {points[i].x * kScale, points[i].y * kScale},
                      half_width);
    }
  }
  void blend(Colour colour) {
    for (int y = touched_top_; y < touched_bottom_; ++y)
      for (int x = touched_left_; x < touched_right_; ++x) {
        const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                        static_cast<std::size_t>(x);
        const float cover = coverage_[at];
        coverage_[at] = 0;
        const std::uint8_t channels[3] = {colour.r, colour.g, colour.b};
        for (std::size_t c = 0; c < 3; ++c) {
          std::uint8_t& pixel = pixels_[at * 3 + c];
          pixel = static_cast<std::uint8_t>(std::lround(static_cast<float>(pixel) * (1 - cover) +
                                                        static_cast<float>(channels[c]) * cover));
        }
      }
    touched_left_ = width_;
    touched_top_ = height_;
    touched_right_ = touched_bottom_ = 0;
  }
  int width_, height_;
  std::vector<std::uint8_t> pixels_;
  std::vector<float> coverage_;
  int touched_left_ = 1 << 30, touched_top_ = 1 << 30, touched_right_ = 0, touched_bottom_ = 0;
};
}  // namespace

std::unique_ptr<Canvas> make_png_canvas(int width, int height) {
  return std::make_unique<PngCanvas>(width, height);
}
}  // namespace stepcast
