#include "gui/app/legend_bar.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

namespace stepcast::gui {
namespace {
constexpr int kSwatch = 14, kGap = 12;  // pixels
}

LegendBar::LegendBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setAccessibleName("Legend");
}
void LegendBar::set_present(const std::vector<SliceCategory>& present) {
  present_ = present;
  updateGeometry();
  update();
}
std::vector<std::pair<QRect, SliceCategory>> LegendBar::boxes() const {
  std::vector<std::pair<QRect, SliceCategory>> out;
  const QFontMetrics metrics(figure_font(0.9));
  int x = 4;
  for (const SliceCategory c : present_) {
    const int w = kSwatch + 4 + metrics.horizontalAdvance(category_label(c));
    out.emplace_back(QRect(x, 0, w, height()), c);
    x += w + kGap;
  }
  return out;
}
QRect LegendBar::box_of(SliceCategory category) const {
  for (const auto& [box, c] : boxes())
    if (c == category) return box;
  return {};
}
QSize LegendBar::sizeHint() const {
  const auto all = boxes();
  return {all.empty() ? 120 : all.back().first.right() + 8, fontMetrics().height() + 4};
}
void LegendBar::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.setFont(figure_font(0.9));
  for (const auto& [box, c] : boxes()) {
    fill_category(p, QRectF(box.left(), box.center().y() - 5, kSwatch, 11), c);
    p.setPen(theme().text);
    p.drawText(box.adjusted(kSwatch + 4, 0, 4, 0), Qt::AlignVCenter | Qt::AlignLeft,
               category_label(c));
  }
}
void LegendBar::mousePressEvent(QMouseEvent* event) {
  for (const auto& [box, c] : boxes())
    if (box.contains(event->position().toPoint())) emit category_clicked(static_cast<int>(c));
}
bool LegendBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  for (const auto& [box, c] : boxes())
    if (box.contains(help->pos()))
      QToolTip::showText(help->globalPos(),
                         "<b>" + category_label(c) + "</b><br>" + category_definition(c) +
                             "<br>Click: only this category; again: all",
                         this);
  return true;
}
}  // namespace stepcast::gui
