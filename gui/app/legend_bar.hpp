#pragma once
#include <QWidget>
#include <vector>

#include "gui/look/theme.hpp"

namespace stepcast::gui {
/// The categories that occur, with colour and pattern; a click shows only that category, a second
/// one all again.
class LegendBar : public QWidget {
  Q_OBJECT
 public:
  explicit LegendBar(QWidget* parent = nullptr);
  void set_present(const std::vector<SliceCategory>& present);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {120, 18}; }
  QRect box_of(SliceCategory category) const;

 signals:
  void category_clicked(int category);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  std::vector<std::pair<QRect, SliceCategory>> boxes() const;
  std::vector<SliceCategory> present_;
};
}  // namespace stepcast::gui
