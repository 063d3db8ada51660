#include <fmt/format.h>

#include <iterator>

#include "sim/report/chart/canvas.hpp"
#include "sim/report/chart/markup.hpp"

namespace stepcast {
namespace {
std::string hex(Colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.r, c.g, c.b); }

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(int width, int height) {
    fmt::format_to(out(),
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
                   "width=\"{0}\" height=\"{1}\" "
                   "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"{0}\" "
                   "height=\"{1}\" fill=\"#ffffff\"/>\n",
                   width, height);
  }
  void polyline(const std::vector<Point>& points, const Stroke& s) override {
    fmt::format_to(
        out(),
        "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2f}\" stroke-linejoin=\"round\"",
        hex(s.colour), s.width);
    if (s.dash > 0) fmt::format_to(out(), " stroke-dasharray=\"{0:.1f} {0:.1f}\"", s.dash);
    body_ += " points=\"";
    for (const Point& p : points) fmt::format_to(out(), "{:.2f},{:.2f} ", p.x, p.y);
    body_ += "\"/>\n";
  }
  void disc(Point c, double radius, Colour fill) override {
    fmt::format_to(out(), "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\" fill=\"{}\"/>\n", c.x,
                   c.y, radius, hex(fill));
  }
  void rectangle(Point at, double width, double height, Colour fill) override {
    fmt::format_to(
        out(), "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
        at.x, at.y, width, height, hex(fill));
  }
  void text(Point at, const std::string& text, double size, Colour colour, Anchor anchor,
            bool is_bold, bool is_vertical) override {
    const char* side = anchor == Anchor::start    ? "start"
                       : anchor == Anchor::middle ? "middle"
                                                  : "end";
    fmt::format_to(
        out(),
        "<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:.1f}\" fill=\"{}\" text-anchor=\"{}\"{}",
        at.x, at.y, size, hex(colour), side, is_bold ? " font-weight=\"bold\"" : "");
    if (is_vertical) fmt::format_to(out(), " transform=\"rotate(-90 {:.2f} {:.2f})\"", at.x, at.y);
    fmt::format_to(out(), ">{}</text>\n", markup_escaped(text));
  }
  std::string finished() const override { return body_ + "</svg>\n"; }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(body_); }
  std::string body_;
};
}  // namespace

std::unique_ptr<Canvas> make_svg_canvas(int width, int height) {
  return std::make_unique<SvgCanvas>(width, height);
}
}  // namespace stepcast
