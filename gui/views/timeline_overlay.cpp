#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/views/timeline_view.hpp"

/// What lies over the rows: arrows, the marked area, bookmarks and notes.
namespace stepcast::gui {
namespace {
constexpr std::size_t kMostArrows =
    500;  // arrows a frame: 2 ms as lines, 8 ms as curves; a selection rarely has more

void draw_arrow(QPainter& p, const QPointF& from, const QPointF& to) {
  QPainterPath path(from);
  const double bend = std::clamp(std::abs(to.x() - from.x()) / 2, 16.0, 120.0);
  path.cubicTo(from + QPointF(bend, 0), to - QPointF(bend, 0), to);
  p.setBrush(Qt::NoBrush);
  p.drawPath(path);
  p.setBrush(p.pen().color());
  const QPointF head[3]{to, to + QPointF(-7, -4), to + QPointF(-7, 4)};
  p.drawPolygon(head, 3);
}
}  // namespace

QRectF TimelineView::box_of(SliceRef slice) const {
  if (!slice.is_set() || slice.side >= static_cast<int>(scene_.sides.size())) return {};
  const SceneSide& side = scene_.sides[static_cast<std::size_t>(slice.side)];
  const trace::TraceStore& store = *side.facts.trace;
  if (slice.slice >= store.slices()) return {};
  const trace::TrackId track = store.track_of(slice.slice);
  const int index = layout_.row_of_track(store, track, slice.side);
  if (index < 0) return {};
  const TimelineRow& row = layout_.rows[static_cast<std::size_t>(index)];
  int top = row.y - verticalScrollBar()->value() + rows_top(), height = row.height;
  if (row.kind == RowKind::track) {
    top += 1 + store.depth_of(slice.slice) * side.choice.lane_height;
    height = side.choice.lane_height - 2;
  }
  const TimeAxis axis_now = axis();
  const double x0 = gutter_ + axis_now.x_of(side.to_view(store.start(slice.slice))),
               x1 = gutter_ + axis_now.x_of(side.to_view(store.end(slice.slice)));
  return {x0, static_cast<double>(top), std::max(1.0, x1 - x0), static_cast<double>(height)};
}

void TimelineView::paint_flows(QPainter& p, const QSize&) {
  if (!scene_.shows_flows) return;
  const SliceRef shown = selected_.is_set() ? selected_ : hovered_slice_;
  if (!shown.is_set() || shown.side >= static_cast<int>(scene_.sides.size())) return;
  const SceneSide& side = scene_.sides[static_cast<std::size_t>(shown.side)];
  const trace::TraceStore& store = *side.facts.trace;
  std::vector<std::uint32_t> flows = store.flows_from(shown.slice);
  const auto into = store.flows_into(shown.slice);
  flows.insert(flows.end(), into.begin(), into.end());
  p.setRenderHint(QPainter::Antialiasing);
  const TimeAxis axis_now = axis();
  const auto end_point = [&](trace::SliceId slice, trace::TrackId track, Nanoseconds time) {
    const double x = gutter_ + axis_now.x_of(side.to_view(time));
    if (slice != trace::kNoId) {
      const QRectF box = box_of({shown.side, slice});
      if (!box.isEmpty()) return QPointF(x, box.center().y());
    }
    const int index = layout_.row_of_track(store, track, shown.side);
    if (index < 0) return QPointF(x, -50);
    const TimelineRow& row = layout_.rows[static_cast<std::size_t>(index)];
    return QPointF(x, row.y + row.height / 2.0 - verticalScrollBar()->value() + rows_top());
  };
  for (std::size_t i = 0; i < std::min(flows.size(), kMostArrows); ++i) {
    const trace::FlowArrow& flow = store.flows()[flows[i]];
    p.setPen(QPen(flow.from == shown.slice ? theme().hit : theme().a_edge, 1.6));
    draw_arrow(p, end_point(flow.from, flow.from_track, flow.from_time),
               end_point(flow.to, flow.to_track, flow.to_time));
  }
  p.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineView::paint_area(QPainter& p, const QSize& size) {
  if (area_.is_empty() || scene_.is_empty()) return;
  const TimeAxis axis_now{view_, std::max(1.0, static_cast<double>(size.width() - gutter_))};
  const double x0 = std::max<double>(gutter_, gutter_ + axis_now.x_of(area_.start)),
               x1 = std::min<double>(size.width(), gutter_ + axis_now.x_of(area_.end));
  if (x1 <= gutter_ || x0 >= size.width()) return;
  QColor fill = theme().a_edge;
  fill.setAlpha(46);
  p.save();
  p.setClipRect(QRect(gutter_, 0, size.width() - gutter_, size.height()));
  const auto fill_rows = [&](const RowLayout& rows, int shift, int from, int to) {
    for (const TimelineRow& row : rows.rows) {
      const bool is_in =
          area_.tracks.empty() ||
          (row.kind == RowKind::track && row.side == 0 &&
           std::find(area_.tracks.begin(), area_.tracks.end(), row.id) != area_.tracks.end());
      const int top = std::max(from, row.y + shift), bottom = std::min(to, row.bottom() + shift);
      if (is_in && bottom > top) p.fillRect(QRectF(x0, top, x1 - x0, bottom - top), fill);
    }
  };
  fill_rows(layout_, rows_top() - verticalScrollBar()->value(), rows_top(), size.height());
  if (pinned_shown() > 0) fill_rows(pinned_, kRuler, kRuler, kRuler + pinned_shown() - 3);
  p.setPen(QPen(theme().a_edge, 1));
  p.drawLine(QPointF(x0, 20), QPointF(x0, size.height()));
  p.drawLine(QPointF(x1, 20), QPointF(x1, size.height()));
  // The interval's length on the ruler.
  const QString text = time_text(static_cast<double>(area_.end - area_.start));
  const QFontMetrics metrics(p.font(), p.device());
  const double width = metrics.horizontalAdvance(text) + 12;
  double middle = std::clamp((x0 + x1) / 2, gutter_ + width / 2,
                             std::max(gutter_ + width / 2, size.width() - width / 2));
  const QRectF box(middle - width / 2, 22, width, 18);
  p.fillRect(box, theme().a_edge);
  p.setPen(Theme::readable_on(theme().a_edge));
  p.drawText(box, Qt::AlignCenter, text);
  p.restore();
}

void TimelineView::paint_marks(QPainter& p, const QSize& size) {
  if (scene_.is_empty()) return;
  const TimeAxis axis_now{view_, std::max(1.0, static_cast<double>(size.width() - gutter_))};
  p.save();
  p.setClipRect(QRect(gutter_, 0, size.width() - gutter_, size.height()));
  const QFontMetrics metrics(p.font(), p.device());
  for (const TimeMark& mark : marks_) {
    if (mark.begin > view_.end || std::max(mark.begin, mark.end) < view_.start) continue;
    const double x = gutter_ + axis_now.x_of(mark.begin);
    const QColor colour = mark.colour.isValid() ? mark.colour : theme().hit;
    if (mark.end > mark.begin) {
      QColor fill = colour;
      fill.setAlpha(40);
      p.fillRect(QRectF(x, kRuler - 6, axis_now.x_of(mark.end) + gutter_ - x, 6), colour);
      p.fillRect(QRectF(x, kRuler, axis_now.x_of(mark.end) + gutter_ - x, size.height() - kRuler),
                 fill);
    }
    p.setPen(QPen(colour, 1.5));
    p.drawLine(QPointF(x, 22), QPointF(x, size.height()));
    const QString text = metrics.elidedText(mark.text, Qt::ElideRight, 160);
    const QRectF box(x, 22, metrics.horizontalAdvance(text) + 10, 17);
    p.fillRect(box, colour);
    p.setPen(Theme::readable_on(colour));
    p.drawText(box, Qt::AlignCenter, text);
  }
  p.restore();
}
}  // namespace stepcast::gui
