#include "sim/report/chart/chart.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/result.hpp"
#include "sim/io/files.hpp"
#include "sim/report/chart/canvas.hpp"
#include "sim/report/chart/theme.hpp"
#include "sim/report/chart/ticks.hpp"

namespace stepcast {
using namespace chart_theme;
namespace {
constexpr double kHeight = 600, kLeft = 92, kRight = 36, kTop = 84, kBottom = 76;

/// How a series is told from the others: a second round of the colours has dashes and hollow marks.
struct Style {
  Colour colour;
  double width = 2.4, dash = 0;  // pixels
  bool has_marks = true, is_hollow = false;
};
Style style_of(std::size_t number) {
  const bool is_again = (number / kColours.size()) % 2 == 1;
  return {kColours[number % kColours.size()], 2.4, is_again ? 3.0 : 0.0, true, is_again};
}
constexpr Style kReference{kAxis, 1.6, 7.0, false, false};

class Drawing {
 public:
  Drawing(const Chart& chart, Canvas& canvas) : chart_(chart), canvas_(canvas) {
    std::size_t number = 0;
    for (const ChartSeries& series : chart_.series)
      legend_.emplace_back(&series, series.is_dashed ? kReference : style_of(number++));
    set_scales();
    place_legend();
  }
  void draw() {
    canvas_.text({kLeft, 36}, chart_.title, 20, kInk, Anchor::start, true);
    if (!chart_.subtitle.empty())
      canvas_.text({kLeft, 58}, chart_.subtitle, 12.5, kSoft, Anchor::start);
    draw_axes();
    for (const auto& [series, style] : legend_) draw_series(*series, style);
    draw_legend();
  }

 private:
  bool is_drawable(double x, double y) const {
    return std::isfinite(x) && std::isfinite(y) && (!chart_.x.is_log || x > 0) &&
           (!chart_.y.is_log || y > 0);
  }
  void set_scales() {
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
    bool is_whole = true;
    for (const ChartSeries& s : chart_.series)
      for (std::size_t i = 0; i < s.x.size(); ++i) {
        if (!is_drawable(s.x[i], s.y[i])) continue;
        x0 = std::min(x0, s.x[i]);
        x1 = std::max(x1, s.x[i]);
        y0 = std::min(y0, s.y[i]);
        y1 = std::max(y1, s.y[i]);
        is_whole = is_whole && s.x[i] == std::floor(s.x[i]);
      }
    if (x0 > x1) {
      x0 = y0 = chart_.x.is_log || chart_.y.is_log ? 1 : 0;
      x1 = y1 = x0 + 1;
    }
    y_ = axis_scale(y0, y1, chart_.y.is_log, false, chart_.y.is_amount);
    x_ = axis_scale(x0, x1, chart_.x.is_log, is_whole && x1 <= 1 << 20, chart_.x.is_amount);
    if (!chart_.x.categories.empty()) {
      x_ = {.low = -0.5,
            .high = static_cast<double>(chart_.x.categories.size()) - 0.5,
            .is_log = false,
            .ticks = {}};
      for (std::size_t i = 0; i < chart_.x.categories.size(); ++i)
        x_.ticks.push_back(static_cast<double>(i));
    }
  }
  double x_at(double v) const { return kLeft + x_.share_of(v) * (right_ - kLeft); }
  double y_at(double v) const {
    return kHeight - kBottom - y_.share_of(v) * (kHeight - kTop - kBottom);
  }

  void draw_axes() {
    const double bottom = kHeight - kBottom;
    for (const double tick : y_.ticks) {
      canvas_.polyline({{kLeft, y_at(tick)}, {right_, y_at(tick)}}, {kGrid, 1, 0});
      canvas_.text({kLeft - 10, y_at(tick) + 4.5}, tick_text(tick), 13, kInk, Anchor::end);
    }
    for (const double tick : x_.ticks) {
      const double x = x_at(tick);
      if (chart_.x.categories.empty()) canvas_.polyline({{x, kTop}, {x, bottom}}, {kGrid, 1, 0});
      canvas_.polyline({{x, bottom}, {x, bottom + 5}}, {kAxis, 1.2, 0});
      const std::string label = chart_.x.categories.empty()
                                    ? tick_text(tick)
                                    : chart_.x.categories[static_cast<std::size_t>(tick)];
      canvas_.text({x, bottom + 22}, label, 13, kInk, Anchor::middle);
    }
    canvas_.polyline({{kLeft, kTop}, {kLeft, bottom}, {right_, bottom}}, {kAxis, 1.2, 0});
    canvas_.text({(kLeft + right_) / 2, kHeight - 26}, chart_.x.title, 14, kInk, Anchor::middle);
    canvas_.text({26, (kTop + bottom) / 2}, chart_.y.title, 14, kInk, Anchor::middle, false, true);
  }

  void draw_line(const std::vector<Point>& points, const Style& style) {
    if (points.size() > 1) canvas_.polyline(points, {style.colour, style.width, style.dash});
  }
  void draw_mark(Point at, const Style& style) {
    if (!style.has_marks) return;
    canvas_.disc(at, 5, kGround);
    canvas_.disc(at, 3.8, style.colour);
    if (style.is_hollow) canvas_.disc(at, 2, kGround);
  }

  void draw_series(const ChartSeries& s, const Style& style) {
    std::vector<Point> points;
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      if (!is_drawable(s.x[i], s.y[i])) continue;
      points.push_back({x_at(s.x[i]), y_at(s.y[i])});
      labels.push_back(i < s.labels.size() ? s.labels[i] : "");
    }
    draw_line(points, style);
    for (std::size_t i = 0; i < points.size(); ++i) {
      draw_mark(points[i], style);
      // Below and to the right of a rising line, where nothing else is drawn.
      if (!labels[i].empty())
        canvas_.text({points[i].x + 7, points[i].y + 17}, labels[i], 11.5, style.colour,
                     Anchor::start);
    }
  }

  // Whether a legend at this place would hide data: points, and lines between them.
  bool covers_data(double left, double top, double width, double height) const {
    constexpr int kSteps = 32;  // along a line between two points
    const auto is_within = [&](double x, double y) {
      return x > left - 8 && x < left + width + 8 && y > top - 8 && y < top + height + 8;
    };
    for (const ChartSeries& s : chart_.series)
      for (std::size_t i = 0; i < s.x.size(); ++i) {
        if (!is_drawable(s.x[i], s.y[i])) continue;
        const Point to{x_at(s.x[i]), y_at(s.y[i])};
        if (is_within(to.x, to.y)) return true;
        if (i == 0 || !is_drawable(s.x[i - 1], s.y[i - 1])) continue;
        const Point from{x_at(s.x[i - 1]), y_at(s.y[i - 1])};
        for (int k = 1; k < kSteps; ++k) {
          const double share = static_cast<double>(k) / kSteps;
          if (is_within(from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)))
            return true;
        }
      }
    return false;
  }

  // In an upper corner where that hides nothing, otherwise in a column of its own beside the plot.
  void place_legend() {
    if (legend_.size() < 2) return;
    double widest = 0;
    for (const auto& [series, style] : legend_)
      widest = std::max(widest, kOtherFonts * text_width(series->name, 13));
    legend_width_ = std::min(widest + 58, (kWidth - kLeft) / 2);
    legend_height_ = 22.0 * static_cast<double>(legend_.size()) + 12;
    legend_top_ = kTop + 10;
    for (const double left : {kLeft + 14, right_ - 14 - legend_width_})
      if (!covers_data(left, legend_top_, legend_width_, legend_height_)) {
        legend_left_ = left;
        return;
      }
    right_ = kWidth - legend_width_ - 28;
    legend_left_ = right_ + 16;
    legend_top_ = kTop;
  }

  void draw_legend() {
    if (legend_.size() < 2) return;
    const double left = legend_left_;
    canvas_.rectangle({left, legend_top_}, legend_width_, legend_height_, kGrid);
    canvas_.rectangle({left + 1, legend_top_ + 1}, legend_width_ - 2, legend_height_ - 2, kGround);
    double y = legend_top_ + 22;
    for (const auto& [series, style] : legend_) {
      draw_line({{left + 10, y - 5}, {left + 38, y - 5}}, style);
      draw_mark({left + 24, y - 5}, style);
      canvas_.text({left + 46, y}, series->name, 13, kInk, Anchor::start);
      y += 22;
    }
  }

  const Chart& chart_;
  Canvas& canvas_;
  AxisScale x_, y_;
  double right_ = kWidth - kRight;  // where the plot ends
  std::vector<std::pair<const ChartSeries*, Style>> legend_;
  double legend_left_ = 0, legend_top_ = 0, legend_width_ = 0, legend_height_ = 0;  // pixels
};
}  // namespace

std::string chart_svg(const Chart& chart) {
  const auto canvas = make_svg_canvas(static_cast<int>(kWidth), static_cast<int>(kHeight));
  Drawing(chart, *canvas).draw();
  return canvas->finished();
}

void write_chart(const Chart& chart, const std::string& path) {
  const bool is_png = path.ends_with(".png");
  if (!is_png && !path.ends_with(".svg"))
    throw InputError(Problem{path, "", "a chart is written as .png or .svg", ""});
  const auto canvas = is_png ? make_png_canvas(static_cast<int>(kWidth), static_cast<int>(kHeight))
                             : make_svg_canvas(static_cast<int>(kWidth), static_cast<int>(kHeight));
  Drawing(chart, *canvas).draw();
  write_file(path, canvas->finished());
}
}  // namespace stepcast
