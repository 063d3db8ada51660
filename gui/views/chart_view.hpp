#pragma once
#include <QWidget>
#include <optional>

#include "gui/views/chart_data.hpp"

namespace stepcast::gui {
/// A chart on screen: hover shows values, dragging over a histogram or line marks a range of x.
class ChartView : public QWidget {
  Q_OBJECT
 public:
  explicit ChartView(QWidget* parent = nullptr);
  void set_chart(ChartData chart);
  const ChartData& chart() const { return chart_; }
  QSize sizeHint() const override { return {520, 280}; }
  QSize minimumSizeHint() const override { return {160, 110}; }
  /// The range of x that was dragged over, if any.
  std::optional<std::pair<double, double>> marked() const { return marked_; }

 signals:
  /// low == high: the mark was cleared by a click.
  void range_marked(double low, double high);
  /// A bar, a cell's column or the nearest point: index into labels or x.
  void clicked(int series, int index);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  ChartData chart_;
  std::optional<QPointF> hover_;
  std::optional<double> drag_from_;
  std::optional<std::pair<double, double>> marked_;
};
}  // namespace stepcast::gui
