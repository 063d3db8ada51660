#include <algorithm>
#include <cmath>

#include "sim/report/chart/canvas.hpp"
#include "sim/report/chart/chart.hpp"
#include "sim/report/chart/theme.hpp"
#include "sim/report/chart/ticks.hpp"

namespace stepcast {
using namespace chart_theme;
namespace {
constexpr double kRow = 28, kBar = 18, kBottom = 64, kMargin = 28;  // pixels
constexpr double kMostOfNames = 0.35;  // of the width; longer names run out on the left

double widest_of(const std::vector<std::string>& texts) {
  double widest = 0;
  for (const std::string& text : texts)
    widest = std::max(widest, kOtherFonts * text_width(text, 13));
  return widest;
}
/// Half way to the ground, as a row that is no choice shows its parts.
Colour paled(Colour c) {
  const auto half = [](std::uint8_t v) { return static_cast<std::uint8_t>((v + 2 * 255) / 3); };
  return {half(c.r), half(c.g), half(c.b)};
}

class Bars {
 public:
  explicit Bars(const BarChart& chart) : chart_(chart) {
    left_ = kMargin + std::min(widest_of(chart.rows), kMostOfNames * kWidth) + 10;
    right_ = kWidth - kMargin - widest_of(chart.labels) - 8;
    top_ = (chart.subtitle.empty() ? 52 : 72) + legend_height();
    bottom_ = top_ + kRow * static_cast<double>(chart.rows.size()) + 6;
    double most = chart.limit;
    for (std::size_t row = 0; row < chart.rows.size(); ++row) most = std::max(most, total(row));
    scale_ = axis_scale(0, most, false, false);
  }
  std::string svg() {
    const auto canvas = make_svg_canvas(static_cast<int>(kWidth), static_cast<int>(height()));
    canvas_ = canvas.get();
    canvas_->text({kMargin, 36}, chart_.title, 20, kInk, Anchor::start, true);
    if (!chart_.subtitle.empty())
      canvas_->text({kMargin, 58}, chart_.subtitle, 12.5, kSoft, Anchor::start);
    draw_legend();
    draw_axis();
    for (std::size_t row = 0; row < chart_.rows.size(); ++row) draw_row(row);
    draw_limit();
    return canvas->finished();
  }

 private:
  double height() const { return bottom_ + kBottom; }
  double x_at(double amount) const { return left_ + scale_.share_of(amount) * (right_ - left_); }
  double amount(const BarChart::Part& part, std::size_t row) const {
    const double a = row < part.amounts.size() ? part.amounts[row] : 0;
    return std::isfinite(a) ? std::max(a, 0.0) : 0;
  }
  double total(std::size_t row) const {
    double sum = 0;
    for (const BarChart::Part& part : chart_.parts) sum += amount(part, row);
    return sum;
  }

  // The legend's entries flow over as many lines as they need.
  template <typename Draw>
  double flow_legend(Draw&& draw) const {
    double x = kMargin, y = 0;
    for (std::size_t i = 0; i < chart_.parts.size(); ++i) {
      const double width = kOtherFonts * text_width(chart_.parts[i].name, 13) + 42;
      if (x > kMargin && x + width > kWidth - kMargin) {
        x = kMargin;
        y += 22;
      }
      draw(i, x, y);
      x += width;
    }
    return y + 22;
  }
  double legend_height() const {
    return chart_.parts.size() < 2 ? 0 : flow_legend([](std::size_t, double, double) {}) + 6;
  }
  void draw_legend() {
    if (chart_.parts.size() < 2) return;
    const double top = top_ - legend_height();
    flow_legend([&](std::size_t i, double x, double y) {
      canvas_->rectangle({x, top + y}, 14, 14, kColours[i % kColours.size()]);
      canvas_->text({x + 20, top + y + 12}, chart_.parts[i].name, 13, kInk, Anchor::start);
    });
  }
  void draw_axis() {
    for (const double tick : scale_.ticks) {
      canvas_->polyline({{x_at(tick), top_}, {x_at(tick), bottom_}}, {kGrid, 1, 0});
      canvas_->text({x_at(tick), bottom_ + 18}, tick_text(tick), 13, kInk, Anchor::middle);
    }
    canvas_->polyline({{left_, top_}, {left_, bottom_}}, {kAxis, 1.2, 0});
    canvas_->text({(left_ + right_) / 2, bottom_ + 44}, chart_.axis, 14, kInk, Anchor::middle);
  }
  void draw_row(std::size_t row) {
    const bool is_muted = row < chart_.is_muted.size() && chart_.is_muted[row];
    const double y = top_ + kRow * static_cast<double>(row) + (kRow - kBar) / 2 + 3;
    canvas_->text({left_ - 8, y + 14}, chart_.rows[row], 13, is_muted ? kSoft : kInk, Anchor::end);
    double from = 0;
    for (std::size_t i = 0; i < chart_.parts.size(); ++i) {
      const double to = from + amount(chart_.parts[i], row);
      const Colour colour = kColours[i % kColours.size()];
      if (to > from)
        canvas_->rectangle({x_at(from), y}, x_at(to) - x_at(from), kBar,
                           is_muted ? paled(colour) : colour);
      from = to;
    }
    if (row < chart_.labels.size())
      canvas_->text({x_at(from) + 8, y + 14}, chart_.labels[row], 13, is_muted ? kSoft : kInk,
                    Anchor::start);
  }
  void draw_limit() {
    if (chart_.limit <= 0) return;
    const double x = x_at(chart_.limit);
    canvas_->polyline({{x, top_ - 4}, {x, bottom_}}, {kInk, 1.6, 6});
    canvas_->text({x, top_ - 9}, chart_.limit_name, 12.5, kInk, Anchor::middle);
  }

  const BarChart& chart_;
  Canvas* canvas_ = nullptr;
  AxisScale scale_;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;  // of the plot, pixels
};
}  // namespace

std::string chart_svg(const BarChart& chart) { return Bars(chart).svg(); }
}  // namespace stepcast
