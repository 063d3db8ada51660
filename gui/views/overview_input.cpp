#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/views/overview_view.hpp"

/// Mouse and tool tips of the overview.
namespace stepcast::gui {
namespace {
using trace::LodCell;
}  // namespace

int OverviewView::row_at(double y) const {
  const QRectF s = strip(size());
  if (order_.empty() || y < s.top() || y >= s.bottom()) return -1;
  return static_cast<int>((y - s.top()) / s.height() * static_cast<double>(order_.size()));
}

void OverviewView::mousePressEvent(QMouseEvent* event) {
  if (!states_ || event->button() != Qt::LeftButton) return;
  drag_from_ = event->position();
  drag_view_ = view_;
  const QRectF box = view_box();
  const QRectF s = strip(size());
  // Inside a rectangle that leaves room the drag moves it; else it spans a new one.
  const bool moves = box.contains(drag_from_) && box.width() < s.width() * 0.98;
  drag_ = moves ? Drag::move : Drag::span;
}
void OverviewView::mouseMoveEvent(QMouseEvent* event) {
  if (drag_ == Drag::none) return;
  const TimeAxis a = axis(size());
  const QRectF s = strip(size());
  if (drag_ == Drag::move) {
    const auto by = static_cast<Nanoseconds>(
        std::llround((event->position().x() - drag_from_.x()) * a.ns_per_px()));
    emit view_dragged({drag_view_.start + by, drag_view_.end + by});
  } else if (std::abs(event->position().x() - drag_from_.x()) > 4) {
    const auto [low, high] = std::minmax({drag_from_.x(), event->position().x()});
    emit view_dragged(
        {a.t_of(std::max(0.0, low - s.left())),
         std::max(a.t_of(low - s.left()) + 1, a.t_of(std::min(s.width(), high - s.left())))});
  }
}
void OverviewView::mouseReleaseEvent(QMouseEvent* event) {
  const bool is_click = (event->position() - drag_from_).manhattanLength() <= 4;
  drag_ = Drag::none;
  if (!is_click || !states_) return;
  const int row = row_at(event->position().y());
  if (row >= 0 && row < static_cast<int>(order_.size()))
    emit rank_chosen(order_[static_cast<std::size_t>(row)]);
  const TimeAxis a = axis(size());
  const Nanoseconds middle = a.t_of(event->position().x() - strip(size()).left());
  if (view_.length() < a.range.length())
    emit view_dragged({middle - view_.length() / 2, middle - view_.length() / 2 + view_.length()});
}
void OverviewView::wheelEvent(QWheelEvent* event) {
  if (!trace_) return;
  const TimeAxis a = axis(size());
  const TimeRange whole{trace_->begin(), std::max(trace_->begin() + 1, trace_->end())};
  emit view_dragged(zoomed(view_, std::pow(1.2, -event->angleDelta().y() / 120.0),
                           a.t_of(event->position().x() - strip(size()).left()), whole));
  event->accept();
}
void OverviewView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) redraw();
  QWidget::changeEvent(event);
}
bool OverviewView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && states_) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = row_at(help->pos().y());
    if (row < 0 || row >= static_cast<int>(order_.size())) return true;
    const Nanoseconds t = axis(size()).t_of(help->pos().x() - strip(size()).left());
    if (mode_ == OverviewMode::memory) {
      QToolTip::showText(help->globalPos(), memory_text(row, t), this);
      return true;
    }
    LodCell cell = 0;
    const auto px = std::max<Nanoseconds>(1, static_cast<Nanoseconds>(axis(size()).ns_per_px()));
    states_->query({t, t + px, static_cast<double>(row), 1, 1, 1}, std::span(&cell, 1));
    QString text =
        QString::fromStdString(trace_->ranks()[order_[static_cast<std::size_t>(row)]].label) +
        " at " + time_text(static_cast<double>(t - trace_->begin()));
    if (trace::is_idle(cell))
      text += "\nidle";
    else {
      text += "\n" + category_label(trace::first_category(cell)) + " " +
              percent_text(trace::first_share(cell) * kFifteenth, 0);
      if (trace::second_share(cell) > 0)
        text += ", " + category_label(trace::second_category(cell)) + " " +
                percent_text(trace::second_share(cell) * kFifteenth, 0);
    }
    QToolTip::showText(help->globalPos(), text, this);
    return true;
  }
  return QWidget::event(event);
}
}  // namespace stepcast::gui
