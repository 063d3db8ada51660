#pragma once
#include <QPainter>
#include <QRectF>
#include <vector>

#include "gui/views/chart_data.hpp"

namespace stepcast::gui {
/// Where the plot stands inside a chart and how values map onto it.
struct ChartFrame {
  QRectF plot;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;
  bool x_log = false, y_log = false;
  double px(double x) const;
  double py(double y) const;
  double x_at(double px) const;
};
/// The frame of `chart` in `rect` with room for title, axes, labels and legend.
ChartFrame chart_frame(const ChartData& chart, const QRectF& rect, const QPaintDevice* device);
/// Draws all of it. `hover` is a position or null: the nearest value is written beside it.
void paint_chart(QPainter& painter, const ChartData& chart, const QRectF& rect,
                 const QPointF* hover = nullptr);
}  // namespace stepcast::gui
