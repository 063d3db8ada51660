#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/views/timeline_view.hpp"
#include "sim/timeline/lod/memory_counters.hpp"

/// The gutter and the ruler of the timeline.
namespace stepcast::gui {
namespace {
constexpr int kIndent = 14, kArrow = 8;  // pixels

QString header_text(const TimelineScene& scene, const TimelineRow& row) {
  const trace::TraceStore& store = *scene.sides[row.side].facts.trace;
  switch (row.kind) {
    case RowKind::node: {
      const trace::NodeInfo& node = store.nodes()[row.id];
      return QString::fromStdString(node.label) +
             QString("  (%1 %2)").arg(node.ranks).arg(node.ranks == 1 ? "rank" : "ranks");
    }
    case RowKind::rank: {
      QString text = QString::fromStdString(store.ranks()[row.id].label);
      if (row.alike > 1) text += QString("  + %1 alike").arg(row.alike - 1);
      return text;
    }
    case RowKind::track:
      return QString::fromStdString(store.tracks()[row.id].label);
    case RowKind::counter:
      return QString::fromStdString(store.counters()[row.id].name);
    case RowKind::delta:
      return "B - A per step";
  }
  return {};
}
}  // namespace

void TimelineView::paint_header(QPainter& p, const TimelineRow& row, int top, bool is_sticky) {
  const Theme& t = theme();
  const bool is_head = row.kind == RowKind::node || row.kind == RowKind::rank;
  p.fillRect(0, top, gutter_ - 1, row.height, is_head ? t.row_header : t.window);
  const bool is_b = row.side == 1 || scene_.is_side_b;
  const bool is_compared = scene_.sides.size() > 1 || scene_.is_side_b;
  if (is_compared && row.kind != RowKind::delta)
    p.fillRect(0, top, 4, row.height, is_b ? t.b_edge : t.a_edge);
  int x = 8 + row.depth * kIndent;
  if (is_head) {
    p.setRenderHint(QPainter::Antialiasing);
    p.setPen(Qt::NoPen);
    p.setBrush(t.dim_text);
    const double cy = top + row.height / 2.0;
    const QPolygonF arrow =
        row.is_open ? QPolygonF{QPointF(x, cy - 3), QPointF(x + kArrow, cy - 3),
                                QPointF(x + kArrow / 2.0, cy + 4)}
                    : QPolygonF{QPointF(x + 1, cy - 4), QPointF(x + 7, cy), QPointF(x + 1, cy + 4)};
    p.drawPolygon(arrow);
    p.setRenderHint(QPainter::Antialiasing, false);
  }
  x += kArrow + 6;
  QFont font = p.font();
  font.setBold(row.kind == RowKind::node);
  p.save();
  p.setFont(font);
  const QFontMetrics metrics(font, p.device());
  p.setPen(row.kind == RowKind::track || row.kind == RowKind::counter ? t.dim_text : t.text);
  const auto& choice = scene_.sides[row.side].choice;
  const bool is_pinned =
      row.kind == RowKind::track &&
      std::find(choice.pinned.begin(), choice.pinned.end(), row.id) != choice.pinned.end();
  int room = gutter_ - x - 8;
  if (is_pinned) {
    p.setBrush(t.hit);
    p.setPen(Qt::NoPen);
    p.drawEllipse(QPoint(gutter_ - 12, top + 9), 3, 3);
    p.setPen(t.text);
    room -= 12;
  }
  const int text_height = row.kind == RowKind::track     ? std::min(row.height, 20)
                          : row.kind == RowKind::counter ? 18
                                                         : row.height;
  QString text = header_text(scene_, row);
  if (row.side == 0 && is_pinned && row.depth == 0)
    text = QString::fromStdString(
               scene_.sides[0]
                   .facts.trace->ranks()[scene_.sides[0].facts.trace->tracks()[row.id].rank]
                   .label) +
           " / " + text;
  p.drawText(QRect(x, top, room, text_height), Qt::AlignVCenter | Qt::AlignLeft,
             metrics.elidedText(text, Qt::ElideMiddle, room));
  if (row.kind == RowKind::counter) {
    const trace::CounterSeries& series = scene_.sides[row.side].facts.trace->counters()[row.id];
    const auto text_of = trace::counts_bytes(series) ? bytes_text : number_text;
    p.setPen(t.dim_text);
    p.drawText(QRect(x, top + 18, room, 16), Qt::AlignVCenter | Qt::AlignLeft,
               metrics.elidedText(text_of(series.least) + " to " + text_of(series.most),
                                  Qt::ElideRight, room));
  }
  p.restore();
  p.setPen(is_sticky ? t.border : t.grid);
  p.drawLine(0, top + row.height - 1, is_sticky ? gutter_ : gutter_ - 1, top + row.height - 1);
}

void TimelineView::paint_gutter(QPainter& p, const QSize& size) {
  p.fillRect(0, kRuler, gutter_, size.height() - kRuler, theme().window);
  const auto draw = [&](const RowLayout& rows, int from_y, int from, int height) {
    p.save();
    p.setClipRect(QRect(0, from, gutter_, height));
    const auto [first, last] = rows.visible(from_y, from_y + height);
    for (std::size_t i = first; i < last; ++i)
      paint_header(p, rows.rows[i], rows.rows[i].y - from_y + from, false);
    p.restore();
  };
  draw(layout_, verticalScrollBar()->value(), rows_top(), size.height() - rows_top());
  if (pinned_shown() > 0) draw(pinned_, 0, kRuler, pinned_shown() - 3);
  p.setPen(theme().border);
  p.drawLine(gutter_ - 1, 0, gutter_ - 1, size.height());
}

void TimelineView::paint_sticky(QPainter& p, const QSize& size) {
  const int scroll = verticalScrollBar()->value(), top = rows_top();
  const int first = layout_.row_at(scroll);
  if (first < 0) return;
  // The node and the rank of the first visible row, where their own rows have scrolled away.
  int y = top;
  std::uint8_t depth = layout_.rows[static_cast<std::size_t>(first)].depth;
  std::vector<const TimelineRow*> parents;
  for (int i = first; i >= 0 && (depth > 0 || i == first); --i) {
    const TimelineRow& row = layout_.rows[static_cast<std::size_t>(i)];
    const bool is_head = row.kind == RowKind::node || row.kind == RowKind::rank;
    if (!is_head || (i != first && row.depth >= depth)) continue;
    if (row.y < scroll) parents.push_back(&row);
    depth = row.depth;
  }
  for (auto it = parents.rbegin(); it != parents.rend(); ++it) {
    if (y + (*it)->height > size.height()) break;
    paint_header(p, **it, y, true);
    y += (*it)->height;
  }
}

void TimelineView::paint_ruler(QPainter& p, const QSize& size) {
  const Theme& t = theme();
  p.fillRect(0, 0, size.width(), kRuler, t.row_header);
  p.setPen(t.border);
  p.drawLine(0, kRuler - 1, size.width(), kRuler - 1);
  const TimeAxis axis_now{view_, std::max(1.0, static_cast<double>(size.width() - gutter_))};
  const QFontMetrics metrics(p.font(), p.device());
  p.setPen(t.dim_text);
  p.drawText(QRect(8, 22, gutter_ - 16, 22), Qt::AlignVCenter | Qt::AlignLeft,
             metrics.elidedText("view " + time_text(static_cast<double>(view_.length())),
                                Qt::ElideRight, gutter_ - 16));
  p.save();
  p.setClipRect(QRect(gutter_, 0, size.width() - gutter_, kRuler));
  // Steps above, ticks below.
  const SceneSide& side = scene_.sides[0];
  p.drawText(QRect(8, 1, gutter_ - 16, 20), Qt::AlignVCenter | Qt::AlignLeft, "");
  if (side.facts.steps) {
    const trace::Steps& steps = *side.facts.steps;
    for (std::size_t i = 0; i < steps.common.size(); ++i) {
      const trace::Steps::Range& range = steps.common[i];
      const Nanoseconds begin = side.to_view(range.begin), end = side.to_view(range.end);
      if (!range.is_present || !view_.overlaps(begin, end)) continue;
      const double x0 = gutter_ + std::max(0.0, axis_now.x_of(begin)),
                   x1 = gutter_ + std::min(axis_now.width, axis_now.x_of(end));
      QColor fill = i % 2 == 0 ? t.a_edge : t.dim_text;
      fill.setAlpha(70);
      p.fillRect(QRectF(x0, 2, std::max(1.0, x1 - x0 - 1), 18), fill);
      const QString text =
          QString("step %1").arg(steps.numbers[i]) +
          (x1 - x0 > 130 ? "  " + time_text(static_cast<double>(range.end - range.begin))
                         : QString());
      p.setPen(t.text);
      if (x1 - x0 > metrics.horizontalAdvance(text) + 6)
        p.drawText(QRectF(x0 + 4, 2, x1 - x0 - 6, 18), Qt::AlignVCenter | Qt::AlignLeft, text);
    }
  }
  double free_from = -1;
  for (const Tick& tick : ruler_ticks(axis_now, whole_.start, 90)) {
    const double x = gutter_ + axis_now.x_of(tick.t);
    p.setPen(tick.label.isEmpty() ? t.border : t.dim_text);
    p.drawLine(QPointF(x, kRuler - (tick.label.isEmpty() ? 5 : 10)), QPointF(x, kRuler - 2));
    const double text_end = x + 3 + metrics.horizontalAdvance(tick.label);
    if (tick.label.isEmpty() || x < free_from || text_end > size.width()) continue;
    p.setPen(t.text);
    p.drawText(QPointF(x + 3, kRuler - 9), tick.label);
    free_from = text_end + 6;
  }
  p.restore();
  p.save();
  p.setPen(t.dim_text);
  const QString how = side.facts.steps
                          ? QString("steps: ") + QString::fromStdString(side.facts.steps->how)
                          : QString("steps: ...");
  p.drawText(QRect(8, 1, gutter_ - 16, 20), Qt::AlignVCenter | Qt::AlignLeft,
             metrics.elidedText(how, Qt::ElideRight, gutter_ - 16));
  p.setPen(t.border);
  p.drawLine(gutter_ - 1, 0, gutter_ - 1, kRuler);
  p.restore();
}
}  // namespace stepcast::gui
