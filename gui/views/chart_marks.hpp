#pragma once
#include "gui/views/chart_painter.hpp"

/// The marks of each kind of chart, inside a frame that has its axes.
namespace stepcast::gui {
void paint_lines(QPainter& p, const ChartData& chart, const ChartFrame& f);
void paint_scatter(QPainter& p, const ChartData& chart, const ChartFrame& f);
void paint_bars(QPainter& p, const ChartData& chart, const ChartFrame& f);
void paint_waterfall(QPainter& p, const ChartData& chart, const ChartFrame& f);
void paint_histogram(QPainter& p, const ChartData& chart, const ChartFrame& f);
void paint_heat(QPainter& p, const ChartData& chart, const ChartFrame& f);
/// The value under the pointer, in a box.
void paint_hover(QPainter& p, const ChartData& chart, const ChartFrame& f, const QPointF& at);
/// What the box says; empty when nothing is near.
QString hover_text(const ChartData& chart, const ChartFrame& f, const QPointF& at);
}  // namespace stepcast::gui
