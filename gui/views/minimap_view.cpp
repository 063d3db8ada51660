#include "gui/views/minimap_view.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/look/theme.hpp"
#include "gui/views/row_painter.hpp"

namespace stepcast::gui {
namespace {
constexpr int kColumns = MinimapView::kWidth - 2;  // of time: the whole trace
constexpr double kLeastBox = 6;                    // pixels: a box that can still be grabbed
}  // namespace

MinimapView::MinimapView(QWidget* parent) : QWidget(parent) {
  setAccessibleName("Minimap of all rows");
}

void MinimapView::set_rows(const RowLayout& layout, std::vector<TraceFacts> sides) {
  layout_ = layout;
  const auto is_same = [&](std::size_t i) {
    return i < sides_.size() && sides_[i].states == sides[i].states && i < cells_.size();
  };
  std::vector<std::vector<trace::LodCell>> cells(sides.size());
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (is_same(i)) {
      cells[i] = std::move(cells_[i]);
      continue;
    }
    if (!sides[i].states || !sides[i].trace || sides[i].states->rows() == 0) continue;
    const auto rows = static_cast<int>(sides[i].states->rows());
    cells[i].resize(static_cast<std::size_t>(rows) * kColumns);
    sides[i].states->query(
        {sides[i].trace->begin(), std::max(sides[i].trace->begin() + 1, sides[i].trace->end()), 0,
         static_cast<double>(rows), kColumns, rows},
        cells[i]);
  }
  cells_ = std::move(cells);
  sides_ = std::move(sides);
  buffer_ = {};
  update();
}

void MinimapView::set_view(int top, int height, int selected_row) {
  if (top == top_ && height == height_ && selected_row == selected_row_) return;
  top_ = top, height_ = height, selected_row_ = selected_row;
  update();
}

double MinimapView::scale() const {
  return static_cast<double>(height()) / std::max(1, layout_.height);
}

const TraceFacts* MinimapView::side_of(const TimelineRow& row) const {
  return row.side < sides_.size() && sides_[row.side].trace ? &sides_[row.side] : nullptr;
}
trace::RankId MinimapView::rank_of(const TimelineRow& row) const {
  const TraceFacts* side = side_of(row);
  if (side == nullptr) return trace::kNoId;
  if (row.kind == RowKind::rank) return row.id;
  return row.kind == RowKind::track ? side->trace->tracks()[row.id].rank : trace::kNoId;
}

QImage MinimapView::drawn_rows() const {
  const double dpr = devicePixelRatioF();
  QImage image((QSizeF(width(), height()) * dpr).toSize(), QImage::Format_RGB32);
  image.fill(theme().base);
  const auto& palette = cell_palette();
  const double rows_px = image.height() / static_cast<double>(std::max(1, layout_.height));
  for (int y = 0; y < image.height(); ++y) {
    const int index = layout_.row_at(static_cast<int>(y / rows_px));
    if (index < 0) continue;
    const TimelineRow& row = layout_.rows[static_cast<std::size_t>(index)];
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    const trace::RankId rank = rank_of(row);
    if (rank == trace::kNoId || row.side >= cells_.size() || cells_[row.side].empty()) {
      std::fill(line, line + image.width(),
                (row.kind == RowKind::node ? theme().row_header : theme().alternate).rgb());
      continue;
    }
    const trace::LodCell* cells =
        cells_[row.side].data() + static_cast<std::size_t>(rank) * kColumns;
    for (int x = 0; x < image.width(); ++x)
      line[x] = palette[cells[std::min(kColumns - 1, x * kColumns / image.width())]];
  }
  image.setDevicePixelRatio(dpr);
  return image;
}

void MinimapView::paintEvent(QPaintEvent*) {
  if (buffer_.size() != (QSizeF(size()) * devicePixelRatioF()).toSize()) buffer_ = drawn_rows();
  QPainter p(this);
  p.drawImage(0, 0, buffer_);
  p.setPen(theme().border);
  p.drawLine(0, 0, 0, height());
  const double top = top_ * scale(), box = std::max(kLeastBox, height_ * scale());
  QColor shade = theme().window;
  shade.setAlpha(130);
  p.fillRect(QRectF(0, 0, width(), top), shade);
  p.fillRect(QRectF(0, top + box, width(), height() - top - box), shade);
  p.setPen(QPen(theme().selection, 1.5));
  p.drawRect(QRectF(1, top, width() - 2, std::min(box, height() - top - 1)));
  if (selected_row_ >= 0 && selected_row_ < static_cast<int>(layout_.rows.size())) {
    const TimelineRow& row = layout_.rows[static_cast<std::size_t>(selected_row_)];
    p.fillRect(QRectF(0, (row.y + row.height / 2) * scale() - 1, width(), 2), theme().hit);
  }
}

void MinimapView::scroll_to(double y) {
  emit scroll_wanted(static_cast<int>(std::lround(y / scale())) - height_ / 2);
}
void MinimapView::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) scroll_to(event->position().y());
}
void MinimapView::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) != 0) scroll_to(event->position().y());
}
void MinimapView::wheelEvent(QWheelEvent* event) {
  // A notch is a view's height: the way here is long.
  emit scroll_wanted(top_ - event->angleDelta().y() * height_ / 120);
  event->accept();
}
bool MinimapView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int index = layout_.row_at(static_cast<int>(help->pos().y() / scale()));
    if (index < 0) return true;
    const TimelineRow& row = layout_.rows[static_cast<std::size_t>(index)];
    const TraceFacts* side = side_of(row);
    const trace::RankId rank = rank_of(row);
    if (side == nullptr) return true;
    QToolTip::showText(
        help->globalPos(),
        QString::fromStdString(rank != trace::kNoId        ? side->trace->ranks()[rank].label
                               : row.kind == RowKind::node ? side->trace->nodes()[row.id].label
                                                           : std::string("counter")),
        this);
    return true;
  }
  return QWidget::event(event);
}
void MinimapView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) buffer_ = {};
  QWidget::changeEvent(event);
}
}  // namespace stepcast::gui
