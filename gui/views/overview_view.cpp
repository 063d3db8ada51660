#include "gui/views/overview_view.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/views/row_painter.hpp"

namespace stepcast::gui {
namespace {
using trace::LodCell;
using trace::SliceCategory;
constexpr double kFifteenth = 1.0 / 15;  // a cell's shares count fifteenths of its area

/// Whether a category belongs to what a heat mode measures.
bool counts(OverviewMode mode, SliceCategory c) {
  switch (mode) {
    case OverviewMode::exposed:
      return trace::is_communication(c) && c != SliceCategory::overlapped;
    case OverviewMode::straggler_wait:
      return c == SliceCategory::straggler_wait;
    case OverviewMode::bubble:
      return c == SliceCategory::bubble;
    case OverviewMode::compute:
      return trace::is_computing(c);
    default:
      return false;
  }
}
}  // namespace

QString overview_mode_label(OverviewMode mode) {
  switch (mode) {
    case OverviewMode::state:
      return "State (blended)";
    case OverviewMode::dominant:
      return "State (largest share)";
    case OverviewMode::exposed:
      return "Exposed communication";
    case OverviewMode::straggler_wait:
      return "Straggler wait";
    case OverviewMode::bubble:
      return "Bubble";
    case OverviewMode::compute:
      return "Compute";
    case OverviewMode::idle:
      return "Idle";
  }
  return {};
}

std::vector<std::uint32_t> overview_palette(OverviewMode mode) {
  if (mode == OverviewMode::state) return cell_palette(trace::Reduction::blend);
  if (mode == OverviewMode::dominant) return cell_palette(trace::Reduction::dominant);
  std::vector<std::uint32_t> table(std::size_t{1} << 16);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto cell = static_cast<LodCell>(i);
    double share = 0;
    if (mode == OverviewMode::idle)
      share = 1 - (trace::first_share(cell) + trace::second_share(cell)) * kFifteenth;
    else {
      if (counts(mode, trace::first_category(cell))) share += trace::first_share(cell) * kFifteenth;
      if (counts(mode, trace::second_category(cell)))
        share += trace::second_share(cell) * kFifteenth;
    }
    table[i] = theme().heat(share).rgb();
  }
  return table;
}

OverviewView::OverviewView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName("Overview of all ranks");
}

void OverviewView::set_rows(std::shared_ptr<const trace::LodPyramid> states, trace::TracePtr trace,
                            std::vector<trace::RankId> order) {
  states_ = std::move(states);
  trace_ = std::move(trace);
  order_ = std::move(order);
  buffer_ = {};
  update();
}
void OverviewView::set_mode(OverviewMode mode) {
  mode_ = mode;
  buffer_ = {};
  update();
}
void OverviewView::set_view(const TimeRange& view, double first_row, double rows) {
  view_ = view;
  first_row_ = first_row;
  shown_rows_ = rows;
  update();
}
void OverviewView::set_hits(std::vector<std::uint8_t> ticks) {
  hits_ = std::move(ticks);
  update();
}
void OverviewView::set_title(const QString& title, const QColor& edge) {
  title_ = title;
  edge_ = edge;
  update();
}

QRectF OverviewView::strip(const QSize& size) const {
  return QRectF(kLeft, kTop, std::max(1, size.width() - kLeft - kRight),
                std::max(1, size.height() - kTop - kBottom));
}
TimeAxis OverviewView::axis(const QSize& size) const {
  return trace_ ? TimeAxis{{trace_->begin(), std::max(trace_->begin() + 1, trace_->end())},
                           strip(size).width()}
                : TimeAxis{{0, 1}, 1};
}

QRectF OverviewView::view_box() const {
  const QRectF s = strip(size());
  const TimeAxis a = axis(size());
  const double x0 = std::clamp(s.left() + a.x_of(view_.start), s.left(), s.right()),
               x1 = std::clamp(s.left() + a.x_of(view_.end), s.left(), s.right());
  const double rows = std::max<double>(1, static_cast<double>(order_.size()));
  const double y0 = s.top() + std::clamp(first_row_ / rows, 0.0, 1.0) * s.height(),
               y1 = s.top() + std::clamp((first_row_ + shown_rows_) / rows, 0.0, 1.0) * s.height();
  return {x0, y0, std::max(2.0, x1 - x0), std::max(3.0, y1 - y0)};
}

QImage OverviewView::cells(const QSize& pixels) const {
  QImage image(pixels, QImage::Format_RGB32);
  std::vector<LodCell> grid(static_cast<std::size_t>(pixels.width()) *
                            static_cast<std::size_t>(pixels.height()));
  states_->query({trace_->begin(), std::max(trace_->begin() + 1, trace_->end()), 0,
                  static_cast<double>(states_->rows()), pixels.width(), pixels.height()},
                 grid);
  const auto palette = overview_palette(mode_);
  std::size_t at = 0;
  for (int y = 0; y < pixels.height(); ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x = 0; x < pixels.width(); ++x) line[x] = palette[grid[at++]];
  }
  return image;
}

void OverviewView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (states_ && trace_ && trace_->slices() > 0) {
    const QRectF s = strip(size());
    const QSize wanted =
        QSizeF(s.width() * devicePixelRatioF(), s.height() * devicePixelRatioF()).toSize();
    if (buffer_.size() != wanted) buffer_ = cells(wanted);
  }
  render_into(painter, size(), devicePixelRatioF());
}

void OverviewView::render_into(QPainter& p, const QSize& size, double dpr) {
  const Theme& t = theme();
  const QRectF s = strip(size);
  p.fillRect(QRect(QPoint(0, 0), size), t.window);
  p.setFont(figure_font(0.9));
  const QFontMetrics metrics(p.font(), p.device());
  p.setPen(t.dim_text);
  if (!states_ || !trace_ || trace_->slices() == 0) {
    p.drawText(s, Qt::AlignCenter,
               trace_ && trace_->slices() > 0
                   ? "Summing up all ranks ..."
                   : "The overview of all ranks stands here once a trace is open.");
    return;
  }
  const QSize pixels = QSizeF(s.width() * dpr, s.height() * dpr).toSize();
  p.drawImage(s, buffer_.size() == pixels ? buffer_ : cells(pixels));
  p.setPen(t.border);
  p.drawRect(s.adjusted(-1, -1, 0, 0));
  if (edge_.isValid()) p.fillRect(QRectF(0, 0, 4, size.height()), edge_);
  p.setPen(t.text);
  const QString head = QString("%1%2 ranks x %3")
                           .arg(title_.isEmpty() ? QString() : title_ + "   ",
                                count_text(static_cast<std::int64_t>(order_.size())),
                                time_text(static_cast<double>(trace_->end() - trace_->begin())));
  p.drawText(QRectF(kLeft, 0, s.width(), kTop), Qt::AlignVCenter | Qt::AlignLeft,
             head + "   " + overview_mode_label(mode_));
  // A few rank names on the left, ticks below.
  p.setPen(t.dim_text);
  const double row = s.height() / static_cast<double>(std::max<std::size_t>(1, order_.size()));
  const auto stride =
      static_cast<std::size_t>(std::max(1.0, std::ceil((metrics.height() + 2) / row)));
  for (std::size_t i = 0; i < order_.size(); i += stride)
    p.drawText(QRectF(6, s.top() + (static_cast<double>(i) + 0.5) * row - metrics.height() / 2.0,
                      kLeft - 12, metrics.height()),
               Qt::AlignRight | Qt::AlignVCenter,
               metrics.elidedText(QString::fromStdString(trace_->ranks()[order_[i]].label),
                                  Qt::ElideMiddle, kLeft - 12));
  double free_from = -1;
  for (const Tick& tick : ruler_ticks(axis(size), trace_->begin(), 100)) {
    const double x = s.left() + axis(size).x_of(tick.t);
    p.setPen(t.border);
    p.drawLine(QPointF(x, s.bottom()), QPointF(x, s.bottom() + (tick.label.isEmpty() ? 2 : 5)));
    const double text_width = metrics.horizontalAdvance(tick.label);
    if (tick.label.isEmpty() || x - text_width / 2 < free_from || x + text_width / 2 > size.width())
      continue;
    p.setPen(t.dim_text);
    p.drawText(QPointF(x - text_width / 2, s.bottom() + 4 + metrics.ascent()), tick.label);
    free_from = x + text_width / 2 + 8;
  }
  for (std::size_t x = 0; x < hits_.size(); ++x)
    if (hits_[x] > 0)
      p.fillRect(QRectF(s.left() + static_cast<double>(x), s.top() - 5, 1.5, 5), t.hit);
  const QRectF box = view_box();
  if (box.width() < s.width() - 1 || box.height() < s.height() - 1) {
    QColor shade = t.window;
    shade.setAlpha(120);
    p.fillRect(QRectF(s.left(), s.top(), box.left() - s.left(), s.height()), shade);
    p.fillRect(QRectF(box.right(), s.top(), s.right() - box.right(), s.height()), shade);
  }
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(t.selection, 1.5));
  p.drawRect(box);
}

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
  const TimeRange whole = a.range;
  emit view_dragged(zoomed(view_, std::pow(1.2, -event->angleDelta().y() / 120.0),
                           a.t_of(event->position().x() - strip(size()).left()), whole));
  event->accept();
}
void OverviewView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) buffer_ = {};
  QWidget::changeEvent(event);
}
bool OverviewView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && states_) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = row_at(help->pos().y());
    if (row < 0 || row >= static_cast<int>(order_.size())) return true;
    const Nanoseconds t = axis(size()).t_of(help->pos().x() - strip(size()).left());
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
