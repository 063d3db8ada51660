#include "gui/views/chart_view.hpp"

#include <QMouseEvent>
#include <algorithm>

#include "gui/look/theme.hpp"
#include "gui/views/chart_painter.hpp"

namespace stepcast::gui {
namespace {
constexpr double kClickSlop = 4;  // pixels: a drag shorter than this is a click
}

ChartView::ChartView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}
void ChartView::set_chart(ChartData chart) {
  chart_ = std::move(chart);
  marked_.reset();
  setAccessibleName(chart_.title);
  update();
}
void ChartView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint_chart(painter, chart_, rect(), hover_ ? &*hover_ : nullptr);
  if (!marked_ || chart_.is_empty()) return;
  const ChartFrame f = chart_frame(chart_, rect(), this);
  QColor fill = theme().a_edge;
  fill.setAlpha(50);
  const double left = f.px(std::max(marked_->first, f.x_low)),
               right = f.px(std::min(marked_->second, f.x_high));
  painter.fillRect(QRectF(left, f.plot.top(), right - left, f.plot.height()), fill);
  painter.setPen(QPen(theme().a_edge, 1.5));
  painter.drawLine(QPointF(left, f.plot.top()), QPointF(left, f.plot.bottom()));
  painter.drawLine(QPointF(right, f.plot.top()), QPointF(right, f.plot.bottom()));
}
void ChartView::mouseMoveEvent(QMouseEvent* event) {
  hover_ = event->position();
  if (drag_from_ && chart_.kind == ChartKind::histogram) {
    const ChartFrame f = chart_frame(chart_, rect(), this);
    const auto [low, high] = std::minmax(
        {*drag_from_, std::clamp(event->position().x(), f.plot.left(), f.plot.right())});
    if (high - low > kClickSlop) marked_ = {f.x_at(low), f.x_at(high)};
  }
  update();
}
void ChartView::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && !chart_.is_empty()) drag_from_ = event->position().x();
}
void ChartView::mouseReleaseEvent(QMouseEvent* event) {
  if (!drag_from_) return;
  const bool is_click = std::abs(event->position().x() - *drag_from_) <= kClickSlop;
  drag_from_.reset();
  const ChartFrame f = chart_frame(chart_, rect(), this);
  if (chart_.kind == ChartKind::histogram) {
    if (is_click) marked_.reset();
    emit range_marked(marked_ ? marked_->first : 0, marked_ ? marked_->second : 0);
    update();
    return;
  }
  if (!is_click || !f.plot.contains(event->position())) return;
  if (chart_.kind == ChartKind::line || chart_.kind == ChartKind::scatter) {
    double best = 24 * 24;
    int series = -1, index = -1;
    for (std::size_t s = 0; s < chart_.series.size(); ++s)
      for (std::size_t i = 0; i < chart_.series[s].y.size() && i < chart_.series[s].x.size(); ++i) {
        const QPointF d =
            QPointF(f.px(chart_.series[s].x[i]), f.py(chart_.series[s].y[i])) - event->position();
        if (QPointF::dotProduct(d, d) >= best) continue;
        best = QPointF::dotProduct(d, d);
        series = static_cast<int>(s);
        index = static_cast<int>(i);
      }
    if (index >= 0) emit clicked(series, index);
    return;
  }
  const int bar = static_cast<int>((event->position().x() - f.plot.left()) / f.plot.width() *
                                   static_cast<double>(chart_.labels.size()));
  const int row = chart_.kind == ChartKind::heat
                      ? static_cast<int>((event->position().y() - f.plot.top()) / f.plot.height() *
                                         static_cast<double>(chart_.series.size()))
                      : 0;
  emit clicked(row, bar);
}
void ChartView::leaveEvent(QEvent*) {
  hover_.reset();
  update();
}
}  // namespace stepcast::gui
