#include "gui/views/overview_view.hpp"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/views/row_painter.hpp"

namespace stepcast::gui {
namespace {
using trace::LodCell;
using trace::SliceCategory;

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
    case OverviewMode::memory:
      return "Memory";
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
  memory_.clear();
  redraw();
}
void OverviewView::set_mode(OverviewMode mode) {
  mode_ = mode;
  redraw();
}
void OverviewView::set_window(std::optional<TimeRange> window) {
  if (window == window_) return;
  window_ = window;
  redraw();
}
void OverviewView::redraw() {
  buffer_ = {};
  refining_.stop();
  update();
}
TimeRange OverviewView::shown() const {
  if (!trace_) return {0, 1};
  return window_.value_or(TimeRange{trace_->begin(), std::max(trace_->begin() + 1, trace_->end())});
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
void OverviewView::set_stragglers(std::vector<trace::RankId> ranks) {
  stragglers_ = std::move(ranks);
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
  return trace_ ? TimeAxis{shown(), strip(size).width()} : TimeAxis{{0, 1}, 1};
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

trace::LodQuery OverviewView::query_of(const QSize& pixels) const {
  return {shown().start,  shown().end,    0, static_cast<double>(states_->rows()),
          pixels.width(), pixels.height()};
}

QImage OverviewView::coloured(const std::vector<LodCell>& grid, const QSize& pixels) const {
  QImage image(pixels, QImage::Format_RGB32);
  const auto palette = overview_palette(mode_);
  std::size_t at = 0;
  for (int y = 0; y < pixels.height(); ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x = 0; x < pixels.width(); ++x) line[x] = palette[grid[at++]];
  }
  return image;
}

QImage OverviewView::cells(const QSize& pixels, bool* is_sharp) const {
  if (is_sharp != nullptr) *is_sharp = true;
  if (mode_ == OverviewMode::memory) return memory_cells(pixels);
  std::vector<LodCell> grid(static_cast<std::size_t>(pixels.width()) *
                            static_cast<std::size_t>(pixels.height()));
  const bool is_exact = states_->query(query_of(pixels), grid);
  // Over the whole trace the pyramid is as fine as the pixels.
  if (is_sharp != nullptr) *is_sharp = is_exact || !window_;
  return coloured(grid, pixels);
}

void OverviewView::refine(const QSize& pixels) {
  refining_.start(
      [states = states_, query = query_of(pixels), pixels](std::stop_token stop) {
        std::vector<LodCell> grid(static_cast<std::size_t>(pixels.width()) *
                                  static_cast<std::size_t>(pixels.height()));
        states->query_exact(query, grid, stop);
        return grid;
      },
      [this, pixels](const std::vector<LodCell>& grid) {
        buffer_ = coloured(grid, pixels);
        update();
      });
}

void OverviewView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (states_ && trace_ && trace_->slices() > 0) {
    const QRectF s = strip(size());
    const QSize wanted =
        QSizeF(s.width() * devicePixelRatioF(), s.height() * devicePixelRatioF()).toSize();
    if (buffer_.size() != wanted) {
      bool is_sharp = true;
      buffer_ = cells(wanted, &is_sharp);
      if (!is_sharp) refine(wanted);
    }
  }
  render_into(painter, size(), devicePixelRatioF());
}

/// Names left of the strip: stragglers first, then others where there is room.
void OverviewView::paint_names(QPainter& p, const QRectF& s) const {
  constexpr double kMark = 4;   // half of a mark's height in pixels
  constexpr int kNameGap = 16;  // pixels that names leave at both sides, a mark beside the strip
  const QFontMetrics metrics(p.font(), p.device());
  const double row = s.height() / static_cast<double>(std::max<std::size_t>(1, order_.size()));
  std::vector<double> taken;
  const auto name = [&](std::size_t i) {
    const double y = s.top() + (static_cast<double>(i) + 0.5) * row;
    const bool is_free = std::none_of(taken.begin(), taken.end(), [&](double other) {
      return std::abs(other - y) < metrics.height() + 2;
    });
    if (!is_free) return;
    taken.push_back(y);
    p.drawText(QRectF(6, y - metrics.height() / 2.0, kLeft - kNameGap, metrics.height()),
               Qt::AlignRight | Qt::AlignVCenter,
               metrics.elidedText(QString::fromStdString(trace_->ranks()[order_[i]].label),
                                  Qt::ElideMiddle, kLeft - kNameGap));
  };
  p.setPen(theme().slower);
  p.setBrush(theme().slower);
  for (const trace::RankId rank : stragglers_) {
    const auto at = std::find(order_.begin(), order_.end(), rank);
    if (at == order_.end()) continue;
    const auto i = static_cast<std::size_t>(at - order_.begin());
    const double y = s.top() + (static_cast<double>(i) + 0.5) * row;
    p.drawPolygon(
        QPolygonF{{s.left() - 7, y - kMark}, {s.left() - 1, y}, {s.left() - 7, y + kMark}});
    name(i);
  }
  p.setBrush(Qt::NoBrush);
  p.setPen(theme().dim_text);
  const auto stride =
      static_cast<std::size_t>(std::max(1.0, std::ceil((metrics.height() + 2) / row)));
  for (std::size_t i = 0; i < order_.size(); i += stride) name(i);
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
                                time_text(static_cast<double>(shown().length())));
  QString what = overview_mode_label(mode_);
  if (mode_ == OverviewMode::memory)
    what += most_memory() > 0 ? ", full colour = " + bytes_text(most_memory())
                              : QString(": this trace has no counter of memory");
  p.drawText(QRectF(kLeft, 0, s.width(), kTop), Qt::AlignVCenter | Qt::AlignLeft,
             head + (window_ ? " of the view   " : "   ") + what);
  paint_names(p, s);
  p.setPen(t.dim_text);
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
}  // namespace stepcast::gui
