#include "gui/views/matrix_view.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/look/theme.hpp"

namespace stepcast::gui {
namespace {
constexpr double kLegend = 10;  // pixels of the colour scale's height
}

MatrixView::MatrixView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}
void MatrixView::set_matrix(MatrixData matrix) {
  data_ = std::move(matrix);
  chosen_row_ = chosen_column_ = -1;
  setAccessibleName(data_.title);
  update();
}

QRectF MatrixView::plot(const QSize& size) const {
  const QFontMetrics metrics(figure_font(0.92));
  double left = 24;
  for (std::size_t i = 0; i < data_.row_labels.size();
       i += std::max<std::size_t>(1, data_.row_labels.size() / 64))
    left = std::max(left, metrics.horizontalAdvance(data_.row_labels[i]) + 14.0);
  left = std::min(left, size.width() * 0.3) + metrics.height();
  const double top = metrics.height() * 2 + kLegend + 8, bottom = metrics.height() * 2 + 8;
  return {left, top, std::max(10.0, size.width() - left - 12),
          std::max(10.0, size.height() - top - bottom)};
}
QRectF MatrixView::cell_box(std::size_t row, std::size_t column) const {
  const QRectF p = plot(size());
  const double w = p.width() / static_cast<double>(std::max<std::size_t>(1, data_.columns)),
               h = p.height() / static_cast<double>(std::max<std::size_t>(1, data_.rows));
  return {p.left() + static_cast<double>(column) * w, p.top() + static_cast<double>(row) * h, w, h};
}
bool MatrixView::cell_at(const QPointF& at, std::size_t& row, std::size_t& column) const {
  const QRectF p = plot(size());
  if (data_.rows == 0 || data_.columns == 0 || !p.contains(at)) return false;
  row = std::min(data_.rows - 1, static_cast<std::size_t>((at.y() - p.top()) / p.height() *
                                                          static_cast<double>(data_.rows)));
  column =
      std::min(data_.columns - 1, static_cast<std::size_t>((at.x() - p.left()) / p.width() *
                                                           static_cast<double>(data_.columns)));
  return true;
}
QColor MatrixView::colour_of(double value) const {
  const double span = data_.high > data_.low ? data_.high - data_.low : 1;
  if (data_.is_diverging)
    return theme().diverging((value - (data_.low + data_.high) / 2) / (span / 2));
  return theme().heat((value - data_.low) / span);
}

void MatrixView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  render_into(painter, size());
}

void MatrixView::render_into(QPainter& p, const QSize& size) {
  const Theme& t = theme();
  p.fillRect(QRect(QPoint(0, 0), size), t.base);
  p.setFont(figure_font(0.92));
  const QFontMetrics metrics(p.font(), p.device());
  const double line = metrics.height();
  if (data_.rows == 0 || data_.columns == 0) {
    p.setPen(t.dim_text);
    p.drawText(QRect(QPoint(12, 12), size - QSize(24, 24)), Qt::AlignCenter | Qt::TextWordWrap,
               data_.empty_text);
    return;
  }
  const QRectF area = plot(size);
  // The picture at screen resolution; where several cells share a pixel the one farthest from the
  // scale's calm end wins, so that one slow rank in thousands is seen.
  const double dpr = p.device()->devicePixelRatioF();
  const int width = std::max(1, static_cast<int>(area.width() * dpr)),
            height = std::max(1, static_cast<int>(area.height() * dpr));
  QImage image(width, height, QImage::Format_RGB32);
  const auto calm = data_.is_diverging ? (data_.low + data_.high) / 2 : data_.low;
  for (int y = 0; y < height; ++y) {
    auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(y));
    const auto r0 =
        static_cast<std::size_t>(static_cast<double>(y) / height * static_cast<double>(data_.rows));
    const auto r1 = std::max(r0 + 1, static_cast<std::size_t>(static_cast<double>(y + 1) / height *
                                                              static_cast<double>(data_.rows)));
    for (int x = 0; x < width; ++x) {
      const auto c0 = static_cast<std::size_t>(static_cast<double>(x) / width *
                                               static_cast<double>(data_.columns));
      const auto c1 =
          std::max(c0 + 1, static_cast<std::size_t>(static_cast<double>(x + 1) / width *
                                                    static_cast<double>(data_.columns)));
      double best = std::nan("");
      for (std::size_t r = r0; r < std::min(r1, data_.rows); ++r)
        for (std::size_t c = c0; c < std::min(c1, data_.columns); ++c) {
          const double v = data_.value[r * data_.columns + c];
          if (std::isfinite(v) &&
              (!std::isfinite(best) || std::abs(v - calm) > std::abs(best - calm)))
            best = v;
        }
      pixels[x] = std::isfinite(best) ? colour_of(best).rgb() : t.base.rgb();
    }
  }
  p.drawImage(area, image);
  p.setPen(t.border);
  p.drawRect(area.adjusted(-1, -1, 0, 0));
  const double cell_w = area.width() / static_cast<double>(data_.columns),
               cell_h = area.height() / static_cast<double>(data_.rows);
  p.setPen(QPen(t.base, 1));
  if (cell_w >= 8)
    for (std::size_t c = 1; c < data_.columns; ++c)
      p.drawLine(QPointF(area.left() + static_cast<double>(c) * cell_w, area.top()),
                 QPointF(area.left() + static_cast<double>(c) * cell_w, area.bottom()));
  if (cell_h >= 8)
    for (std::size_t r = 1; r < data_.rows; ++r)
      p.drawLine(QPointF(area.left(), area.top() + static_cast<double>(r) * cell_h),
                 QPointF(area.right(), area.top() + static_cast<double>(r) * cell_h));
  // Title, legend, labels.
  QFont bold = p.font();
  bold.setBold(true);
  p.save();
  p.setFont(bold);
  p.setPen(t.text);
  p.drawText(
      QRectF(8, 2, size.width() - 16, line), Qt::AlignLeft | Qt::AlignVCenter,
      QFontMetrics(bold, p.device()).elidedText(data_.title, Qt::ElideRight, size.width() - 16));
  p.restore();
  const double scale_width = std::min(160.0, area.width() / 3);
  const double low_width = metrics.horizontalAdvance(data_.low_text) + 6;
  const QRectF scale(area.left() + low_width, line + 8, scale_width, kLegend);
  for (int x = 0; x < static_cast<int>(scale.width()); ++x)
    p.fillRect(QRectF(scale.left() + x, scale.top(), 1, scale.height()),
               colour_of(data_.low + (data_.high - data_.low) * x / scale.width()));
  p.setPen(t.dim_text);
  p.drawText(QRectF(area.left(), scale.center().y() - line / 2, low_width, line),
             Qt::AlignLeft | Qt::AlignVCenter, data_.low_text);
  const double high_width = metrics.horizontalAdvance(data_.high_text);
  p.drawText(QRectF(scale.right() + 6, scale.center().y() - line / 2, high_width + 4, line),
             Qt::AlignLeft | Qt::AlignVCenter, data_.high_text);
  const double note_left = scale.right() + high_width + 24;
  if (size.width() - note_left > 60)
    p.drawText(QRectF(note_left, scale.center().y() - line / 2, size.width() - note_left - 8, line),
               Qt::AlignRight | Qt::AlignVCenter,
               metrics.elidedText(data_.note, Qt::ElideRight,
                                  static_cast<int>(size.width() - note_left - 8)));
  const auto row_stride = static_cast<std::size_t>(std::max(1.0, std::ceil((line + 2) / cell_h)));
  for (std::size_t r = 0; r < data_.rows && r < data_.row_labels.size(); r += row_stride)
    p.drawText(QRectF(line, area.top() + (static_cast<double>(r) + 0.5) * cell_h - line / 2,
                      area.left() - line - 6, line),
               Qt::AlignRight | Qt::AlignVCenter,
               metrics.elidedText(data_.row_labels[r], Qt::ElideMiddle,
                                  static_cast<int>(area.left() - line - 6)));
  double free_from = area.left();
  for (std::size_t c = 0; c < data_.columns && c < data_.column_labels.size(); ++c) {
    const double x = area.left() + (static_cast<double>(c) + 0.5) * cell_w,
                 w = metrics.horizontalAdvance(data_.column_labels[c]);
    if (x - w / 2 < free_from || x + w / 2 > size.width()) continue;
    p.drawText(QRectF(x - w / 2 - 1, area.bottom() + 3, w + 2, line), Qt::AlignCenter,
               data_.column_labels[c]);
    free_from = x + w / 2 + 6;
  }
  p.setPen(t.text);
  p.drawText(QRectF(area.left(), area.bottom() + line + 3, area.width(), line), Qt::AlignCenter,
             data_.column_title);
  p.save();
  p.translate(2, area.center().y());
  p.rotate(-90);
  p.drawText(QRectF(-area.height() / 2, 0, area.height(), line), Qt::AlignCenter, data_.row_title);
  p.restore();
  if (chosen_row_ >= 0) {
    p.setPen(QPen(t.selection, 1.5));
    p.setBrush(Qt::NoBrush);
    p.drawRect(
        cell_box(static_cast<std::size_t>(chosen_row_), static_cast<std::size_t>(chosen_column_))
            .adjusted(-1, -1, 1, 1));
  }
}

void MatrixView::mousePressEvent(QMouseEvent* event) {
  std::size_t row = 0, column = 0;
  if (!cell_at(event->position(), row, column)) return;
  chosen_row_ = static_cast<int>(row);
  chosen_column_ = static_cast<int>(column);
  update();
  emit cell_chosen(chosen_row_, chosen_column_);
}
bool MatrixView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  std::size_t row = 0, column = 0;
  if (data_.text && cell_at(help->pos(), row, column))
    QToolTip::showText(help->globalPos(), data_.text(row, column), this);
  else
    QToolTip::hideText();
  return true;
}
}  // namespace stepcast::gui
