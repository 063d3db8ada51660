#pragma once
#include <QImage>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "gui/document/background.hpp"
#include "gui/document/trace_facts.hpp"
#include "gui/views/time_axis.hpp"
#include "sim/timeline/lod/counter_mip.hpp"

namespace stepcast::gui {
inline constexpr double kFifteenth = 1.0 / 15;  // a cell's shares count fifteenths of its area
/// What a cell of the overview shows.
enum class OverviewMode { state, dominant, exposed, straggler_wait, bubble, compute, idle, memory };
QString overview_mode_label(OverviewMode mode);

/// All ranks over all time, or over the part of it that the timeline shows: one state lane per
/// rank, the view of the timeline as a rectangle that can be dragged.
class OverviewView : public QWidget {
  Q_OBJECT
 public:
  explicit OverviewView(QWidget* parent = nullptr);
  /// `states` has one row per rank in the order shown; `order` names them.
  void set_rows(std::shared_ptr<const trace::LodPyramid> states, trace::TracePtr trace,
                std::vector<trace::RankId> order);
  void set_mode(OverviewMode mode);
  OverviewMode mode() const { return mode_; }
  void set_view(const TimeRange& view, double first_rank_row, double rank_rows);
  /// The part of time that is drawn; nothing = the whole trace. A part is drawn at once from the
  /// pyramid and then sharp, by a worker.
  void set_window(std::optional<TimeRange> window);
  /// What is drawn: the window, or the whole trace.
  TimeRange shown() const;
  /// True once what is on screen is as sharp as the pixels.
  bool is_sharp() const { return !refining_.is_running(); }
  void set_hits(std::vector<std::uint8_t> ticks);  // one per pixel column of strip_width()
  void set_title(const QString& title, const QColor& edge);
  /// Slow ranks, slowest first: each gets a mark at its row, and its name where there is room.
  void set_stragglers(std::vector<trace::RankId> ranks);
  int strip_width() const { return std::max(1, width() - kLeft - kRight); }
  QRectF view_box() const;
  const std::vector<trace::RankId>& order() const { return order_; }
  QSize sizeHint() const override { return {900, 150}; }
  QSize minimumSizeHint() const override { return {200, 60}; }
  void render_into(QPainter& painter, const QSize& size, double dpr);
  static constexpr int kLeft = 74, kRight = 8, kTop = 20, kBottom = 18;  // pixels around the strip

 signals:
  void view_dragged(const stepcast::gui::TimeRange& view);
  void rank_chosen(uint rank);  // a click: RankId

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF strip(const QSize& size) const;
  TimeAxis axis(const QSize& size) const;
  void redraw();
  trace::LodQuery query_of(const QSize& pixels) const;
  QImage coloured(const std::vector<trace::LodCell>& grid, const QSize& pixels) const;
  QImage cells(const QSize& pixels, bool* is_sharp = nullptr) const;
  void refine(const QSize& pixels);
  // overview_memory.cpp
  QImage memory_cells(const QSize& pixels) const;
  /// Largest amount any rank reaches, in the counter's unit; 0 = no counter of memory.
  double most_memory() const;
  QString memory_text(int row, Nanoseconds t) const;
  int row_at(double y) const;
  void paint_names(QPainter& p, const QRectF& strip) const;
  std::shared_ptr<const trace::LodPyramid> states_;
  trace::TracePtr trace_;
  std::vector<trace::RankId> order_;
  OverviewMode mode_ = OverviewMode::state;
  TimeRange view_{0, 1};
  double first_row_ = 0, shown_rows_ = 0;
  std::vector<std::uint8_t> hits_;
  std::vector<trace::RankId> stragglers_;
  QString title_;
  QColor edge_;
  QImage buffer_;
  std::optional<TimeRange> window_;
  Background refining_;
  mutable std::vector<std::shared_ptr<const trace::CounterMip>> memory_;  // by rank; made on demand
  enum class Drag { none, move, span } drag_ = Drag::none;
  QPointF drag_from_;
  TimeRange drag_view_{0, 1};
};
/// Colours of all cells under a mode: state modes blend categories, the others are heat of a share.
std::vector<std::uint32_t> overview_palette(OverviewMode mode);
}  // namespace stepcast::gui
