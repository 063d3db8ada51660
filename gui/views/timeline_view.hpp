#pragma once
#include <QAbstractScrollArea>
#include <QImage>
#include <optional>

#include "gui/views/minimap_view.hpp"
#include "gui/views/timeline_scene.hpp"
#include "gui/views/view_history.hpp"

namespace stepcast::gui {
/// A mark in time with a text: bookmarks (no length) and notes.
struct TimeMark {
  Nanoseconds begin = 0, end = 0;
  QString text;
  QColor colour;
};

/// The timeline: ruler with steps, gutter with the tree of rows, pinned tracks, the rows
/// themselves. Keyboard actions are slots, so that the window's action list, the palette and the
/// tests call the same code.
class TimelineView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit TimelineView(QWidget* parent = nullptr);

  /// Shows a scene. `keeps_view`: the part of time and the scroll position stay (more of the same
  /// trace was read).
  void set_scene(TimelineScene scene, bool keeps_view);
  /// A part of time that can be seen beside the trace's own: linked timelines reach equally far.
  void set_bounds(std::optional<TimeRange> bounds) { bounds_ = bounds; }
  /// What the sides of a scene cover on the axis; nothing for an empty scene.
  static std::optional<TimeRange> extent_of(const TimelineScene& scene);
  const TimelineScene& scene() const { return scene_; }
  TimelineScene& scene_for_change() { return scene_; }  // then relayout() or repaint_rows()
  void relayout();
  void repaint_rows();
  const RowLayout& layout_rows() const { return layout_; }
  MinimapView& minimap() { return *minimap_; }

  const TimeRange& view() const { return view_; }
  TimeRange whole() const { return whole_; }
  void set_view(const TimeRange& view, bool is_recorded = true, bool merges = false);
  SliceRef selected() const { return selected_; }
  void select(SliceRef slice, bool is_revealed = false);
  const Area& area() const { return area_; }
  void set_area(Area area);
  /// Lanes of the area's tracks; all when the area names no track.
  std::vector<trace::LaneId> area_lanes() const;
  void reveal(SliceRef slice);
  void scroll_to_row(int row);
  void set_marks(std::vector<TimeMark> marks);
  int gutter() const { return gutter_; }
  void set_gutter(int width);
  double last_paint_ms() const { return last_paint_ms_; }
  SliceRef slice_at(const QPoint& at) const;
  /// Where a slice stands on screen; empty when its row is hidden.
  QRectF box_of(SliceRef slice) const;
  TimeAxis axis() const;
  ViewState state() const;
  /// The time under the pointer, or the middle of the view: what zooming by key holds.
  Nanoseconds anchor() const;
  QImage rendered(const QSize& size, double dpr);
  /// Draws everything with a painter of any kind (SVG, printer).
  void render_into(QPainter& painter, const QSize& size);
  static constexpr int kRuler = 46;  // pixels: a row of steps and a row of ticks

 public slots:
  void zoom_by(double factor);
  void pan_by(double share_of_view);
  void scroll_rows(int pixels);
  void fit_all();
  void fit_selection();
  void undo_view();
  void redo_view();
  void next_slice();
  void previous_slice();
  void next_flow();
  void previous_flow();
  void toggle_pin();
  void hide_row();
  void show_all_rows();
  void expand_all();
  void collapse_all();
  void clear_selection();
  void area_from_selection();
  void change_row_height(int pixels);

 signals:
  void view_changed(const stepcast::gui::TimeRange& view, int scroll);
  void slice_selected(const stepcast::gui::SliceRef& slice);
  void area_changed();
  void rows_changed();  // pins, hidden or open rows
  void history_changed(bool can_undo, bool can_redo);
  void hovered(const QString& text);
  void menu_wanted(const QPoint& global, const stepcast::gui::SliceRef& slice, int row);
  void offset_dragged(qlonglong ns);  // Ctrl+drag of B's rows in a comparison

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  bool viewportEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  enum class Drag { none, area, area_begin, area_end, pan, zoom, gutter, pin_border, offset };
  struct Frame {
    QRect rows;
    int pinned_height = 0;
  };  // of the viewport
  int pinned_shown() const;
  int rows_top() const { return kRuler + pinned_shown(); }
  void update_scroll_range();
  void update_minimap();
  void record(bool merges);
  void apply(const ViewState& state);
  void draw_rows();
  void paint_all(QPainter& painter, const QSize& size);
  void paint_ruler(QPainter& painter, const QSize& size);
  void paint_gutter(QPainter& painter, const QSize& size);
  void paint_header(QPainter& painter, const TimelineRow& row, int top, bool is_sticky);
  void paint_sticky(QPainter& painter, const QSize& size);
  void paint_area(QPainter& painter, const QSize& size);
  void paint_flows(QPainter& painter, const QSize& size);
  void paint_marks(QPainter& painter, const QSize& size);
  const TimelineRow* row_under(const QPoint& at, int* top = nullptr) const;
  void toggle_row(const TimelineRow& row);
  Nanoseconds snapped(Nanoseconds t, const QPoint& at) const;
  void drag_area(const QPoint& at, bool snaps);
  QString tip_for(const QPoint& at) const;
  void step_slice(int direction);
  void step_flow(bool is_forward);

  MinimapView* minimap_;
  TimelineScene scene_;
  RowLayout layout_, pinned_;
  TimeRange view_{0, 1}, whole_{0, 1};
  std::optional<TimeRange> bounds_;
  SliceRef selected_, hovered_slice_;
  Area area_;
  ViewHistory history_;
  std::vector<TimeMark> marks_;
  QImage buffer_;
  bool is_stale_ = true, is_applying_ = false;
  int gutter_ = 210, pinned_limit_ = 200;
  std::optional<QPoint> pointer_;
  Drag drag_ = Drag::none;
  QPoint drag_start_, drag_now_;
  TimeRange drag_view_;
  int drag_scroll_ = 0, drag_row_ = -1;
  Nanoseconds drag_time_ = 0;
  double last_paint_ms_ = 0;
  int labels_dropped_ = 0;
};
}  // namespace stepcast::gui
