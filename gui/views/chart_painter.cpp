#include "gui/views/chart_painter.hpp"

#include <QFontMetricsF>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "gui/look/theme.hpp"
#include "gui/views/chart_marks.hpp"

namespace stepcast::gui {
namespace {
constexpr double kMargin = 8;  // pixels around everything
constexpr double kLeastBarLabelPx = 26;

bool has_bars(const ChartData& c) {
  return c.kind == ChartKind::bar || c.kind == ChartKind::stacked_bar ||
         c.kind == ChartKind::waterfall;
}
bool has_legend(const ChartData& c) {
  return c.kind != ChartKind::heat && c.kind != ChartKind::waterfall &&
         c.kind != ChartKind::histogram && c.series.size() > 1;
}
double share_of(double value, double low, double high, bool is_log) {
  if (is_log) return value <= 0 ? 0 : std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}
/// Rows of the legend, broken to the width.
std::vector<std::vector<std::size_t>> legend_rows(const ChartData& c, double width,
                                                  const QFontMetricsF& metrics) {
  std::vector<std::vector<std::size_t>> rows(1);
  double used = 0;
  for (std::size_t i = 0; i < c.series.size(); ++i) {
    const double need = metrics.horizontalAdvance(c.series[i].name) + 34;
    if (used + need > width && !rows.back().empty()) {
      rows.emplace_back();
      used = 0;
    }
    rows.back().push_back(i);
    used += need;
  }
  return rows;
}
bool slants_labels(const ChartData& c, double plot_width, const QFontMetricsF& metrics) {
  if (c.labels.empty()) return false;
  double longest = 0;
  for (const QString& label : c.labels)
    longest = std::max(longest, metrics.horizontalAdvance(label));
  return longest + 6 > plot_width / static_cast<double>(c.labels.size());
}
}  // namespace

double ChartFrame::px(double x) const {
  return plot.left() + share_of(x, x_low, x_high, x_log) * plot.width();
}
double ChartFrame::py(double y) const {
  return plot.bottom() - share_of(y, y_low, y_high, y_log) * plot.height();
}
double ChartFrame::x_at(double at) const {
  const double share = (at - plot.left()) / plot.width();
  return x_log ? x_low * std::pow(x_high / x_low, share) : x_low + share * (x_high - x_low);
}

ChartFrame chart_frame(const ChartData& chart, const QRectF& rect, const QPaintDevice* device) {
  const QFont font = figure_font();
  const QFontMetricsF metrics =
      device != nullptr ? QFontMetricsF(font, device) : QFontMetricsF(font);
  const double line = metrics.height();
  ChartFrame f;
  std::tie(f.y_low, f.y_high) = chart.y_range();
  std::tie(f.x_low, f.x_high) = chart.x_range();
  f.x_log = chart.x.is_log;
  f.y_log = chart.y.is_log;
  if (chart.kind == ChartKind::scatter) {  // one scale, so that the diagonal is y = x
    f.x_low = f.y_low = std::min(f.x_low, f.y_low);
    f.x_high = f.y_high = std::max(f.x_high, f.y_high);
  }
  if (!f.y_log) f.y_high += (f.y_high - f.y_low) * 0.06;  // headroom for the value above a bar
  if (f.y_low < 0 && !f.y_log) f.y_low -= (f.y_high - f.y_low) * 0.06;
  double left = 0;
  if (chart.kind == ChartKind::heat)
    for (const QString& label : chart.row_labels)
      left = std::max(left, metrics.horizontalAdvance(label));
  else
    for (const double tick : axis_ticks(f.y_low, f.y_high, 6, f.y_log, chart.y.unit))
      left = std::max(left, metrics.horizontalAdvance(axis_text(tick, chart.y.unit)));
  left += kMargin + 8 + (chart.y.title.isEmpty() ? 0 : line + 4);
  double top = kMargin + (chart.title.isEmpty() ? 4 : line * 1.5);
  if (chart.kind == ChartKind::waterfall)
    top +=
        line * 0.7;  // the first total is as high as the chart: its value stands clear of the title
  if (has_legend(chart))
    top += static_cast<double>(legend_rows(chart, rect.width() - left - kMargin, metrics).size()) *
               (line + 4) +
           2;
  double right = kMargin + 12;
  double bottom = kMargin + line + 6 + (chart.x.title.isEmpty() ? 0 : line + 2) +
                  (chart.note.isEmpty() ? 0 : line);
  if ((has_bars(chart) || chart.kind == ChartKind::heat) &&
      slants_labels(chart, rect.width() - left - right, metrics)) {
    double longest = 0;
    for (const QString& label : chart.labels)
      longest = std::max(longest, metrics.horizontalAdvance(label));
    bottom += std::min(longest, 120.0) * 0.6;
  }
  if (chart.kind == ChartKind::heat) right += 12;
  f.plot = rect.adjusted(left, top, -right, -bottom);
  return f;
}

void paint_axes(QPainter& p, const ChartData& chart, const ChartFrame& f, const QRectF& rect) {
  const Theme& t = theme();
  const QFontMetricsF metrics(p.font(), p.device());
  const double line = metrics.height();
  if (!chart.title.isEmpty()) {
    QFont bold = p.font();
    bold.setBold(true);
    p.save();
    p.setFont(bold);
    p.setPen(t.text);
    p.drawText(
        QRectF(rect.left() + kMargin, rect.top() + kMargin, rect.width() - 2 * kMargin, line),
        Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetricsF(bold, p.device())
            .elidedText(chart.title, Qt::ElideRight, rect.width() - 2 * kMargin));
    p.restore();
  }
  if (!chart.note.isEmpty()) {
    p.setPen(t.dim_text);
    p.drawText(
        QRectF(rect.left() + kMargin, rect.bottom() - line - 4, rect.width() - 2 * kMargin, line),
        Qt::AlignLeft | Qt::AlignVCenter,
        metrics.elidedText(chart.note, Qt::ElideRight, rect.width() - 2 * kMargin));
  }
  if (chart.kind != ChartKind::heat) {
    const int most = std::max(2, static_cast<int>(f.plot.height() / (line * 2)));
    for (const double tick : axis_ticks(f.y_low, f.y_high, most, f.y_log, chart.y.unit)) {
      const double y = f.py(tick);
      if (y < f.plot.top() - 1 || y > f.plot.bottom() + 1) continue;
      p.setPen(QPen(t.grid, 1));
      p.drawLine(QPointF(f.plot.left(), y), QPointF(f.plot.right(), y));
      p.setPen(t.dim_text);
      p.drawText(QRectF(rect.left(), y - line / 2, f.plot.left() - 6 - rect.left(), line),
                 Qt::AlignRight | Qt::AlignVCenter, axis_text(tick, chart.y.unit));
    }
  }
  p.setPen(QPen(t.border, 1));
  p.drawLine(f.plot.bottomLeft(), f.plot.topLeft());
  p.drawLine(f.plot.bottomLeft(), f.plot.bottomRight());
  double below = f.plot.bottom() + 4;
  if (has_bars(chart) || chart.kind == ChartKind::heat) {
    const double step =
        f.plot.width() / static_cast<double>(std::max<std::size_t>(1, chart.labels.size()));
    const bool slants = slants_labels(chart, f.plot.width(), metrics);
    const auto stride =
        static_cast<std::size_t>(std::max(1.0, std::ceil(line / std::max(step, 0.5))));
    p.setPen(t.dim_text);
    for (std::size_t i = 0; i < chart.labels.size(); i += slants ? stride : 1) {
      const double x = f.plot.left() + (static_cast<double>(i) + 0.5) * step;
      if (!slants) {
        p.drawText(QRectF(x - step / 2, below, step, line), Qt::AlignCenter, chart.labels[i]);
        continue;
      }
      p.save();
      p.translate(x + line / 4, below + 2);
      p.rotate(-38);
      p.drawText(QRectF(-130, -line / 2, 130, line), Qt::AlignRight | Qt::AlignVCenter,
                 metrics.elidedText(chart.labels[i], Qt::ElideRight, 124));
      p.restore();
    }
    if (slants)
      below = rect.bottom() - kMargin - (chart.note.isEmpty() ? 0 : line) -
              (chart.x.title.isEmpty() ? 0 : line + 2) - line;
  } else {
    double last_right = -1e9;
    for (const double tick :
         axis_ticks(f.x_low, f.x_high, std::max(2, static_cast<int>(f.plot.width() / 80)), f.x_log,
                    chart.x.unit)) {
      const double x = f.px(tick);
      if (x < f.plot.left() - 1 || x > f.plot.right() + 1) continue;
      const QString text = axis_text(tick, chart.x.unit);
      const double half = metrics.horizontalAdvance(text) / 2;
      p.setPen(QPen(t.border, 1));
      p.drawLine(QPointF(x, f.plot.bottom()), QPointF(x, f.plot.bottom() + 4));
      if (x - half < last_right + 6) continue;
      p.setPen(t.dim_text);
      p.drawText(QRectF(x - half - 2, below, 2 * half + 4, line), Qt::AlignCenter, text);
      last_right = x + half;
    }
  }
  p.setPen(t.text);
  if (!chart.x.title.isEmpty())
    p.drawText(QRectF(f.plot.left(), below + line, f.plot.width(), line), Qt::AlignCenter,
               chart.x.title);
  if (!chart.y.title.isEmpty()) {
    p.save();
    p.translate(rect.left() + kMargin, f.plot.center().y());
    p.rotate(-90);
    p.drawText(QRectF(-f.plot.height() / 2, 0, f.plot.height(), line), Qt::AlignCenter,
               metrics.elidedText(chart.y.title, Qt::ElideRight, f.plot.height()));
    p.restore();
  }
  if (has_legend(chart)) {
    double y = f.plot.top() - 2;
    const auto rows = legend_rows(chart, f.plot.width(), metrics);
    y -= static_cast<double>(rows.size()) * (line + 4);
    for (const auto& row : rows) {
      double x = f.plot.left();
      for (const std::size_t i : row) {
        const ChartSeries& s = chart.series[i];
        const QRectF box(x, y + line / 2 - 4, 16, 8);
        if (has_bars(chart) || chart.kind == ChartKind::scatter)
          p.fillRect(box, s.colour);
        else {
          p.setPen(QPen(s.colour, 2.5, s.is_dashed ? Qt::DashLine : Qt::SolidLine));
          p.drawLine(QPointF(box.left(), box.center().y()), QPointF(box.right(), box.center().y()));
        }
        p.setPen(t.text);
        const double width = metrics.horizontalAdvance(s.name);
        p.drawText(QRectF(x + 20, y, width + 4, line), Qt::AlignLeft | Qt::AlignVCenter, s.name);
        x += width + 34;
      }
      y += line + 4;
    }
  }
}

void paint_chart(QPainter& p, const ChartData& chart, const QRectF& rect, const QPointF* hover) {
  p.save();
  p.setFont(figure_font());
  p.setRenderHint(QPainter::Antialiasing);
  p.fillRect(rect, theme().base);
  const ChartFrame f = chart_frame(chart, rect, p.device());
  if (chart.is_empty() || f.plot.width() < kLeastBarLabelPx || f.plot.height() < kLeastBarLabelPx) {
    p.setPen(theme().dim_text);
    p.drawText(rect.adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap,
               chart.is_empty() ? chart.empty_text : QString("Too small to draw"));
    p.restore();
    return;
  }
  paint_axes(p, chart, f, rect);
  switch (chart.kind) {
    case ChartKind::line:
      paint_lines(p, chart, f);
      break;
    case ChartKind::scatter:
      paint_scatter(p, chart, f);
      break;
    case ChartKind::bar:
    case ChartKind::stacked_bar:
      paint_bars(p, chart, f);
      break;
    case ChartKind::waterfall:
      paint_waterfall(p, chart, f);
      break;
    case ChartKind::histogram:
      paint_histogram(p, chart, f);
      break;
    case ChartKind::heat:
      paint_heat(p, chart, f);
      break;
  }
  if (hover != nullptr && f.plot.contains(*hover)) paint_hover(p, chart, f, *hover);
  p.restore();
}
}  // namespace stepcast::gui
