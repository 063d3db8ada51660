#pragma once
#include <QImage>
#include <QWidget>
#include <memory>
#include <vector>

#include "gui/document/trace_facts.hpp"
#include "gui/views/row_layout.hpp"

namespace stepcast::gui {
/// All rows of a timeline from top to bottom beside it, each with its rank's states over the whole
/// trace: where among thousands of rows the view stands. A click or drag scrolls there.
class MinimapView : public QWidget {
  Q_OBJECT
 public:
  explicit MinimapView(QWidget* parent);
  /// `sides` are those of the scene; the layout outlives the next call.
  void set_rows(const RowLayout& layout, std::vector<TraceFacts> sides);
  /// What the timeline shows of the layout, in its pixels, and the row that is selected (-1 none).
  void set_view(int top, int height, int selected_row);
  static constexpr int kWidth = 54;  // pixels, a border column at each side

 signals:
  void scroll_wanted(int top);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool event(QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  double scale() const;  // pixels here per pixel of the layout
  QImage drawn_rows() const;
  void scroll_to(double y);
  const TraceFacts* side_of(const TimelineRow& row) const;
  /// The rank whose states a row shows; kNoId for node and counter rows.
  trace::RankId rank_of(const TimelineRow& row) const;
  RowLayout layout_;
  std::vector<TraceFacts> sides_;
  std::vector<std::vector<trace::LodCell>> cells_;  // by side: ranks x kColumns
  QImage buffer_;
  int top_ = 0, height_ = 0, selected_row_ = -1;
};
}  // namespace stepcast::gui
