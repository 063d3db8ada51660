#include <QElapsedTimer>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/views/row_painter.hpp"
#include "gui/views/timeline_view.hpp"

/// A frame of the timeline: rows into the buffer, then what moves over them.
namespace stepcast::gui {
void TimelineView::draw_rows() {
  const double dpr = viewport()->devicePixelRatioF();
  const QSize size = viewport()->size();
  const QSize device(static_cast<int>(std::ceil(size.width() * dpr)),
                     static_cast<int>(std::ceil(size.height() * dpr)));
  if (buffer_.size() != device) buffer_ = QImage(device, QImage::Format_RGB32);
  buffer_.setDevicePixelRatio(dpr);
  QElapsedTimer watch;
  watch.start();
  buffer_.fill(theme().base);
  QPainter painter(&buffer_);
  painter.setFont(figure_font(0.92));
  paint_all(painter, size);
  painter.end();
  last_paint_ms_ = static_cast<double>(watch.nsecsElapsed()) * 1e-6;
  is_stale_ = false;
}

void TimelineView::paintEvent(QPaintEvent*) {
  if (is_stale_) {
    draw_rows();
    update_minimap();
  }
  QPainter painter(viewport());
  painter.drawImage(0, 0, buffer_);
  painter.setFont(figure_font(0.92));
  paint_area(painter, viewport()->size());
  paint_marks(painter, viewport()->size());
  if (drag_ == Drag::zoom) {
    QColor fill = theme().hit;
    fill.setAlpha(60);
    painter.fillRect(QRect(QPoint(std::min(drag_start_.x(), drag_now_.x()), kRuler),
                           QPoint(std::max(drag_start_.x(), drag_now_.x()), height())),
                     fill);
  }
  if (pointer_ && pointer_->x() > gutter_ && !scene_.is_empty()) {
    painter.setPen(QPen(theme().dim_text, 1, Qt::DotLine));
    painter.drawLine(pointer_->x(), kRuler, pointer_->x(), viewport()->height());
  }
  if (hasFocus()) {
    painter.setPen(QPen(theme().a_edge, 1));
    painter.drawLine(0, 0, viewport()->width(), 0);
  }
}

void TimelineView::paint_all(QPainter& painter, const QSize& size) {
  if (scene_.is_empty()) {
    painter.setPen(theme().dim_text);
    painter.drawText(QRect(QPoint(0, 0), size), Qt::AlignCenter,
                     "No trace is open.\nDrop a trace here, or press Ctrl+O.");
    return;
  }
  // Rows are drawn into the image that the painter is on; other devices (SVG) get them as one
  // picture.
  auto* image = dynamic_cast<QImage*>(painter.device());
  QImage own;
  if (image == nullptr) {
    own = QImage(size * 2, QImage::Format_RGB32);
    own.setDevicePixelRatio(2);
    own.fill(theme().base);
    image = &own;
  }
  const TimeAxis axis_now{view_, std::max(1.0, static_cast<double>(size.width() - gutter_))};
  const int scroll = verticalScrollBar()->value(), top = rows_top();
  QPainter row_text;
  QPainter* over = &painter;
  if (image == &own) {
    row_text.begin(&own);
    row_text.setFont(painter.font());
    over = &row_text;
  }
  const auto draw = [&](const RowLayout& rows, int from_y, int from, int height) {
    RowPainter rows_painter(*image, scene_, axis_now);
    const SliceRef partner = [&] {
      if (!selected_.is_set() || scene_.sides.size() < 2) return SliceRef{};
      const auto& list = scene_.sides[static_cast<std::size_t>(selected_.side)].partner;
      return list && selected_.slice < list->size()
                 ? SliceRef{1 - selected_.side, (*list)[selected_.slice]}
                 : SliceRef{};
    }();
    rows_painter.set_selection(selected_, partner);
    over->save();
    over->setClipRect(QRect(0, from, size.width(), height));
    const auto [first, last] = rows.visible(from_y, from_y + height);
    for (std::size_t i = first; i < last; ++i) {
      const TimelineRow& row = rows.rows[i];
      const int y = row.y - from_y + from;
      if (i % 2 == 1 || row.kind == RowKind::node)
        over->fillRect(gutter_, y, size.width() - gutter_, row.height,
                       row.kind == RowKind::node ? theme().row_header : theme().alternate);
      if (row.side == 1)
        over->fillRect(
            QRectF(gutter_, y, size.width() - gutter_, row.height),
            QColor(theme().b_edge.red(), theme().b_edge.green(), theme().b_edge.blue(), 14));
      switch (row.kind) {
        case RowKind::track:
          rows_painter.track(row, y, gutter_);
          break;
        case RowKind::rank:
          rows_painter.rank_state(row, y, gutter_);
          break;
        case RowKind::counter:
          rows_painter.counter(*over, row, y, gutter_);
          break;
        case RowKind::delta:
          rows_painter.delta(row, y, gutter_);
          break;
        case RowKind::node:
          break;
      }
      over->setPen(theme().grid);
      over->drawLine(gutter_, y + row.height - 1, size.width(), y + row.height - 1);
    }
    rows_painter.finish(*over);
    labels_dropped_ = rows_painter.labels_dropped();
    over->restore();
  };
  draw(layout_, scroll, top, size.height() - top);
  if (pinned_shown() > 0) {
    // Above the scrolling rows, which may have drawn into this strip.
    over->fillRect(0, kRuler, size.width(), pinned_shown(), theme().base);
    draw(pinned_, 0, kRuler, pinned_shown() - 3);
    over->fillRect(0, kRuler + pinned_shown() - 3, size.width(), 3, theme().border);
  }
  if (image == &own) {
    row_text.end();
    painter.drawImage(QRectF(0, 0, size.width(), size.height()), own);
  }
  painter.save();
  painter.setClipRect(QRect(gutter_, kRuler, size.width() - gutter_, size.height() - kRuler));
  paint_flows(painter, size);
  painter.restore();
  paint_gutter(painter, size);
  paint_sticky(painter, size);
  paint_ruler(painter, size);
}

void TimelineView::render_into(QPainter& painter, const QSize& size) {
  painter.fillRect(QRect(QPoint(0, 0), size), theme().base);
  painter.setFont(figure_font(0.92));
  paint_all(painter, size);
  paint_area(painter, size);
  paint_marks(painter, size);
}

QImage TimelineView::rendered(const QSize& size, double dpr) {
  QImage image(size * dpr, QImage::Format_RGB32);
  image.setDevicePixelRatio(dpr);
  QPainter painter(&image);
  render_into(painter, size);
  return image;
}
}  // namespace stepcast::gui
