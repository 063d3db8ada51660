#include "gui/views/chart_marks.hpp"

#include <QFontMetricsF>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"

namespace stepcast::gui {
namespace {
constexpr double kBarShare = 0.72;        // of the distance between bars
constexpr std::size_t kMostPoints = 400;  // points with a dot each; longer lines have none

double bar_step(const ChartData& c, const ChartFrame& f) {
  return f.plot.width() / static_cast<double>(std::max<std::size_t>(1, c.labels.size()));
}
QString waterfall_text(const ChartData& c, double value, bool is_total) {
  return (is_total || value <= 0 ? "" : "+") + axis_text(value, c.y.unit);
}
}  // namespace

void paint_lines(QPainter& p, const ChartData& chart, const ChartFrame& f) {
  p.save();
  p.setClipRect(f.plot.adjusted(-6, -6, 6, 2));
  for (const bool references : {true, false})
    for (const ChartSeries& s : chart.series) {
      if (s.is_reference != references) continue;
      QPainterPath path;
      bool is_open = false;
      for (std::size_t i = 0; i < s.y.size() && i < s.x.size(); ++i) {
        if (!std::isfinite(s.y[i]) || (f.y_log && s.y[i] <= 0)) {
          is_open = false;
          continue;
        }
        const QPointF point(f.px(s.x[i]), f.py(s.y[i]));
        if (is_open)
          path.lineTo(point);
        else
          path.moveTo(point);
        is_open = true;
      }
      p.setBrush(Qt::NoBrush);
      p.setPen(QPen(s.colour, s.is_reference ? 1.4 : 2.2,
                    s.is_dashed ? Qt::DashLine : Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
      p.drawPath(path);
      if (s.is_reference || s.y.size() > kMostPoints) continue;
      p.setPen(QPen(theme().base, 1));
      p.setBrush(s.colour);
      for (std::size_t i = 0; i < s.y.size() && i < s.x.size(); ++i)
        if (std::isfinite(s.y[i])) p.drawEllipse(QPointF(f.px(s.x[i]), f.py(s.y[i])), 3.2, 3.2);
    }
  p.restore();
}

void paint_scatter(QPainter& p, const ChartData& chart, const ChartFrame& f) {
  p.save();
  p.setClipRect(f.plot);
  if (chart.band > 0) {
    QPolygonF band;
    for (int i = 0; i <= 64; ++i) {
      const double x = f.x_at(f.plot.left() + f.plot.width() * i / 64);
      band << QPointF(f.px(x), f.py(x * (1 + chart.band)));
    }
    for (int i = 64; i >= 0; --i) {
      const double x = f.x_at(f.plot.left() + f.plot.width() * i / 64);
      band << QPointF(f.px(x), f.py(x * (1 - chart.band)));
    }
    QColor fill = theme().good;
    fill.setAlpha(36);
    p.setPen(Qt::NoPen);
    p.setBrush(fill);
    p.drawPolygon(band);
  }
  p.setPen(QPen(theme().dim_text, 1, Qt::DashLine));
  p.drawLine(QPointF(f.px(f.x_low), f.py(f.x_low)), QPointF(f.px(f.x_high), f.py(f.x_high)));
  for (const ChartSeries& s : chart.series) {
    QColor fill = s.colour;
    fill.setAlpha(190);
    p.setPen(QPen(theme().base, 0.8));
    p.setBrush(fill);
    for (std::size_t i = 0; i < s.y.size() && i < s.x.size(); ++i)
      p.drawEllipse(QPointF(f.px(s.x[i]), f.py(s.y[i])), 4, 4);
  }
  p.restore();
}

void paint_bars(QPainter& p, const ChartData& chart, const ChartFrame& f) {
  const double step = bar_step(chart, f);
  const bool is_stacked = chart.kind == ChartKind::stacked_bar;
  const double width =
      step * kBarShare /
      (is_stacked ? 1 : static_cast<double>(std::max<std::size_t>(1, chart.series.size())));
  const QFontMetricsF metrics(p.font(), p.device());
  for (std::size_t bar = 0; bar < chart.labels.size(); ++bar) {
    double level = 0;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      const ChartSeries& s = chart.series[i];
      if (bar >= s.y.size() || !std::isfinite(s.y[bar])) continue;
      const double left = f.plot.left() + (static_cast<double>(bar) + 0.5) * step -
                          step * kBarShare / 2 + (is_stacked ? 0 : width * static_cast<double>(i));
      const double from = f.py(is_stacked ? level : 0),
                   to = f.py(is_stacked ? level + s.y[bar] : s.y[bar]);
      const QColor colour = chart.series.size() == 1 && bar < chart.bar_colours.size()
                                ? chart.bar_colours[bar]
                                : s.colour;
      p.fillRect(QRectF(left, std::min(from, to), std::max(1.0, width - (is_stacked ? 0 : 1)),
                        std::abs(to - from)),
                 colour);
      if (is_stacked) {
        level += s.y[bar];
        continue;
      }
      const QString text = axis_text(s.y[bar], chart.y.unit);
      if (metrics.horizontalAdvance(text) > width + 6) continue;
      p.setPen(theme().text);
      p.drawText(QRectF(left - 4, (s.y[bar] < 0 ? to + 1 : to - metrics.height() - 1), width + 8,
                        metrics.height()),
                 Qt::AlignCenter, text);
    }
    if (is_stacked) {
      const QString text = axis_text(level, chart.y.unit);
      if (metrics.horizontalAdvance(text) > step) continue;
      p.setPen(theme().text);
      p.drawText(QRectF(f.plot.left() + static_cast<double>(bar) * step,
                        f.py(level) - metrics.height() - 1, step, metrics.height()),
                 Qt::AlignCenter, text);
    }
  }
}

void paint_waterfall(QPainter& p, const ChartData& chart, const ChartFrame& f) {
  if (chart.series.empty()) return;
  const auto& y = chart.series[0].y;
  const double step = bar_step(chart, f);
  const QFontMetricsF metrics(p.font(), p.device());
  double level = 0;
  for (std::size_t bar = 0; bar < y.size(); ++bar) {
    const bool is_total = bar == 0 || bar + 1 == y.size();
    const double from = is_total ? std::max(0.0, f.y_low) : level;
    const double to = is_total ? y[bar] : level + y[bar];
    QColor colour = y[bar] < 0 ? theme().faster : theme().slower;
    if (bar < chart.bar_colours.size() && chart.bar_colours[bar].isValid())
      colour = chart.bar_colours[bar];
    const double left =
        f.plot.left() + (static_cast<double>(bar) + 0.5) * step - step * kBarShare / 2;
    const double top = std::min(f.py(from), f.py(to)),
                 height = std::max(1.5, std::abs(f.py(from) - f.py(to)));
    p.fillRect(QRectF(left, top, step * kBarShare, height), colour);
    level = to;
    if (bar + 1 < y.size()) {
      p.setPen(QPen(theme().dim_text, 1, Qt::DotLine));
      p.drawLine(QPointF(left + step * kBarShare, f.py(level)), QPointF(left + step, f.py(level)));
    }
    const QString text = waterfall_text(chart, y[bar], is_total);
    if (metrics.horizontalAdvance(text) > step + 4) continue;
    p.setPen(theme().text);
    p.drawText(QRectF(left - (step - step * kBarShare), top - metrics.height() - 2,
                      step * kBarShare + 2 * (step - step * kBarShare), metrics.height()),
               Qt::AlignCenter, text);
  }
}

void paint_histogram(QPainter& p, const ChartData& chart, const ChartFrame& f) {
  for (const ChartSeries& s : chart.series) {
    QColor fill = s.colour;
    if (chart.series.size() > 1) fill.setAlpha(150);
    for (std::size_t i = 0; i < s.y.size() && i + 1 < chart.edges.size(); ++i) {
      if (s.y[i] <= 0) continue;
      const double left = f.px(chart.edges[i]), right = f.px(chart.edges[i + 1]);
      p.fillRect(QRectF(left + 0.5, f.py(s.y[i]), std::max(1.0, right - left - 1),
                        f.plot.bottom() - f.py(s.y[i])),
                 fill);
    }
  }
}

void paint_heat(QPainter& p, const ChartData& chart, const ChartFrame& f) {
  const double column = bar_step(chart, f),
               row = f.plot.height() /
                     static_cast<double>(std::max<std::size_t>(1, chart.series.size()));
  auto [low, high] = chart.y_range();
  const QFontMetricsF metrics(p.font(), p.device());
  if (!chart.y.from_zero) {
    low = 1e300;
    for (const ChartSeries& s : chart.series)
      for (const double v : s.y)
        if (std::isfinite(v)) low = std::min(low, v);
  }
  p.setRenderHint(QPainter::Antialiasing, false);
  for (std::size_t r = 0; r < chart.series.size(); ++r) {
    for (std::size_t c = 0; c < chart.series[r].y.size(); ++c) {
      const double value = chart.series[r].y[c];
      const QRectF cell(f.plot.left() + static_cast<double>(c) * column,
                        f.plot.top() + static_cast<double>(r) * row, column, row);
      if (!std::isfinite(value)) {
        p.fillRect(cell, QBrush(theme().dim_text, Qt::BDiagPattern));
        continue;
      }
      const QColor colour = theme().heat(high > low ? (value - low) / (high - low) : 0);
      p.fillRect(cell.adjusted(0, 0, -1, -1), colour);
      const QString text = axis_text(value, chart.y.unit);
      if (metrics.horizontalAdvance(text) + 6 > column || metrics.height() > row) continue;
      p.setPen(Theme::readable_on(colour));
      p.drawText(cell, Qt::AlignCenter, text);
    }
    if (r < chart.row_labels.size() && row >= 6) {
      p.setPen(theme().dim_text);
      p.drawText(QRectF(f.plot.left() - 206, f.plot.top() + static_cast<double>(r) * row, 200, row),
                 Qt::AlignRight | Qt::AlignVCenter, chart.row_labels[r]);
    }
  }
}

QString hover_text(const ChartData& chart, const ChartFrame& f, const QPointF& at) {
  if (chart.kind == ChartKind::line || chart.kind == ChartKind::scatter) {
    double best = 24 * 24;  // pixels squared: nearer than 24
    QString text;
    for (const ChartSeries& s : chart.series)
      for (std::size_t i = 0; i < s.y.size() && i < s.x.size(); ++i) {
        const QPointF d = QPointF(f.px(s.x[i]), f.py(s.y[i])) - at;
        const double distance = d.x() * d.x() + d.y() * d.y();
        if (!(distance < best)) continue;
        best = distance;
        text = s.name + (s.name.isEmpty() ? "" : "\n") + chart.x.title + ": " +
               axis_text(s.x[i], chart.x.unit) + "\n" + chart.y.title + ": " +
               axis_text(s.y[i], chart.y.unit);
      }
    return text;
  }
  if (chart.kind == ChartKind::histogram) {
    const double x = f.x_at(at.x());
    for (std::size_t i = 0; i + 1 < chart.edges.size(); ++i) {
      if (x < chart.edges[i] || x >= chart.edges[i + 1]) continue;
      QString text = axis_text(chart.edges[i], chart.x.unit) + " to " +
                     axis_text(chart.edges[i + 1], chart.x.unit);
      for (const ChartSeries& s : chart.series)
        if (i < s.y.size())
          text += "\n" + s.name + (s.name.isEmpty() ? "" : ": ") + axis_text(s.y[i], chart.y.unit);
      return text;
    }
    return {};
  }
  const auto bar =
      static_cast<std::size_t>(std::max(0.0, (at.x() - f.plot.left()) / bar_step(chart, f)));
  if (bar >= chart.labels.size()) return {};
  QString text = chart.labels[bar];
  if (chart.kind == ChartKind::heat) {
    const auto row = static_cast<std::size_t>((at.y() - f.plot.top()) / f.plot.height() *
                                              static_cast<double>(chart.series.size()));
    if (row >= chart.series.size() || bar >= chart.series[row].y.size()) return {};
    if (row < chart.row_labels.size()) text = chart.row_labels[row] + ", " + text;
    return text + "\n" + chart.y.title + ": " + axis_text(chart.series[row].y[bar], chart.y.unit);
  }
  for (const ChartSeries& s : chart.series)
    if (bar < s.y.size())
      text += "\n" + s.name + (s.name.isEmpty() ? "" : ": ") + axis_text(s.y[bar], chart.y.unit);
  return text;
}

void paint_hover(QPainter& p, const ChartData& chart, const ChartFrame& f, const QPointF& at) {
  const QString text = hover_text(chart, f, at);
  if (text.isEmpty()) return;
  const QFontMetricsF metrics(p.font(), p.device());
  QRectF box =
      metrics.boundingRect(QRectF(0, 0, 400, 400), Qt::AlignLeft, text).adjusted(-6, -4, 6, 4);
  box.moveTopLeft(at + QPointF(14, 10));
  if (box.right() > f.plot.right()) box.moveRight(at.x() - 10);
  if (box.bottom() > f.plot.bottom()) box.moveBottom(at.y() - 8);
  p.setPen(QPen(theme().border, 1));
  p.setBrush(theme().row_header);
  p.drawRoundedRect(box, 3, 3);
  p.setPen(theme().text);
  p.drawText(box.adjusted(6, 4, -6, -4), Qt::AlignLeft, text);
}
}  // namespace stepcast::gui
