#pragma once
#include <QImage>
#include <QPainter>
#include <deque>
#include <string>
#include <vector>

#include "gui/look/theme.hpp"
#include "gui/views/timeline_scene.hpp"

namespace stepcast::gui {
/// Colours of level-of-detail cells under the theme in force; rebuilt when the theme changes.
const std::vector<std::uint32_t>& cell_palette(
    trace::Reduction reduction = trace::Reduction::blend);

/// Draws rows of slices into an image: spans straight into its memory, texts and patterns with a
/// painter afterwards.
class RowPainter {
 public:
  /// `image` has its devicePixelRatio set; rows are given in logical pixels.
  RowPainter(QImage& image, const TimelineScene& scene, const TimeAxis& axis);
  void track(const TimelineRow& row, int top, double left);
  void rank_state(const TimelineRow& row, int top, double left);
  void counter(QPainter& painter, const TimelineRow& row, int top, double left);
  void delta(const TimelineRow& row, int top, double left);
  /// Patterns, names of slices and marks gathered by the calls above.
  void finish(QPainter& painter);
  void set_selection(SliceRef selected, SliceRef partner) {
    selected_ = selected;
    partner_ = partner;
  }
  int labels_dropped() const { return labels_dropped_; }
  static constexpr std::size_t kMostLabels = 500;  // texts a frame: about 5 ms at 9 us each
  /// Above so many slices in view a lane is drawn from the pyramid.
  static constexpr std::size_t kDenseSlices = 4000;

 private:
  struct Label {
    QRectF box;
    std::string_view text;
    QRgb background;
  };
  struct Patch {
    QRectF box;
    trace::SliceCategory category;
  };
  struct Outline {
    QRectF box;
    QColor colour;
    double width;
  };
  /// What lies above a lane's repeated row: thin slices, and the edges of slices that are on the
  /// critical path or were found by the filter.
  struct Bar {
    double x0, x1;
    int top, height;
    QRgb colour;
  };
  void lane(const SceneSide& side, int side_index, trace::LaneId lane, const Strip& strip, int top,
            int height);
  void dense_lane(const SceneSide& side, trace::LaneId lane, const Strip& strip, int top,
                  int height);
  void cells(const std::vector<trace::LodCell>& row, double x0, int top, int height,
             bool is_dimmed);
  void draw_labels(QPainter& painter);
  QRgb* line_of(int y) { return pixels_ + y * stride_; }
  void fill(double x0, double x1, int top, int height, QRgb colour);
  /// Paints the one pixel row that a lane repeats over its height: a slice then costs one row and
  /// not as many as the lane is high.
  void scan(double x0, double x1, QRgb colour);
  void repeat_scan(double x0, double x1, int top, int height);
  QRgb colour_of(const SceneSide& side, const trace::DrawItem& item) const;
  bool is_dimmed(const SceneSide& side, const trace::DrawItem& item) const;
  void instants(const SceneSide& side, const TimelineRow& row, int top);

  QImage& image_;
  const TimelineScene& scene_;
  TimeAxis axis_;
  double dpr_, left_ = 0;
  QRgb* pixels_;  // of the image: asking it for a line checks for sharing every time
  qsizetype stride_;
  std::size_t exact_slices_;  // of each row's query: all rows that the window holds share a frame's
  std::vector<std::vector<Strip>> strips_;  // by side
  std::vector<trace::DrawItem> items_;
  std::vector<QRgb> scan_;  // 0 = nothing painted
  std::vector<Bar> bars_;
  std::vector<Label> labels_;
  std::deque<std::string> texts_;  // of labels that are no name of the trace
  std::vector<Patch> patches_;
  std::vector<Outline> outlines_;
  std::vector<std::pair<QPointF, QColor>> marks_;
  SliceRef selected_, partner_;
  int labels_dropped_ = 0;
};
/// A colour of its own for each name, the same in every trace.
QColor name_colour(std::string_view name);
/// `over` by `share` over `under`.
QRgb blended(QRgb under, QRgb over, double share);
}  // namespace stepcast::gui
