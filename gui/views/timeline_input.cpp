#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/views/timeline_view.hpp"

/// Mouse and wheel on the timeline.
namespace stepcast::gui {
namespace {
constexpr int kClickSlop = 4;       // pixels: shorter drags are clicks
constexpr int kEdgeReach = 4;       // pixels around an edge that can be dragged
constexpr double kSnapReach = 7;    // pixels around a slice's border that catch an edge
constexpr double kWheelZoom = 1.2;  // per notch of 120 eighths of a degree
constexpr double kWheelPan = 0.1;   // share of the view a notch
}  // namespace

const TimelineRow* TimelineView::row_under(const QPoint& at, int* top) const {
  if (scene_.is_empty() || at.y() < kRuler) return nullptr;
  const bool is_pinned = at.y() < rows_top();
  const RowLayout& rows = is_pinned ? pinned_ : layout_;
  const int shift = is_pinned ? kRuler : rows_top() - verticalScrollBar()->value();
  const int index = rows.row_at(at.y() - shift);
  if (index < 0) return nullptr;
  const TimelineRow& row = rows.rows[static_cast<std::size_t>(index)];
  if (top != nullptr) *top = row.y + shift;
  return &row;
}

SliceRef TimelineView::slice_at(const QPoint& at) const {
  int top = 0;
  const TimelineRow* row = row_under(at, &top);
  if (row == nullptr || row->kind != RowKind::track || at.x() < gutter_) return {};
  const SceneSide& side = scene_.sides[row->side];
  const trace::TraceStore& store = *side.facts.trace;
  const trace::TrackInfo& track = store.tracks()[row->id];
  const int lane = (at.y() - top - 1) / side.choice.lane_height;
  if (lane < 0 || lane >= static_cast<int>(track.lanes)) return {};
  const TimeAxis axis_now = axis();
  const Nanoseconds time = side.to_trace(axis_now.t_of(at.x() - gutter_));
  const trace::LaneId id = track.first_lane + static_cast<trace::LaneId>(lane);
  const trace::SliceId exact = store.slice_at(id, time);
  if (exact != trace::kNoId) return {row->side, exact};
  // A slice narrower than a pixel: the nearest within two.
  const auto reach = static_cast<Nanoseconds>(axis_now.ns_per_px() * 2) + 1;
  const trace::SliceId near = store.first_ending_after(id, time - reach);
  const trace::LaneInfo& info = store.lanes()[id];
  if (near < info.first + info.count && store.start(near) <= time + reach) return {row->side, near};
  return {};
}

Nanoseconds TimelineView::snapped(Nanoseconds t, const QPoint& at) const {
  const TimelineRow* row = row_under(at);
  if (row == nullptr || row->kind != RowKind::track) return t;
  const SceneSide& side = scene_.sides[row->side];
  const trace::TraceStore& store = *side.facts.trace;
  const trace::TrackInfo& track = store.tracks()[row->id];
  const auto reach = static_cast<Nanoseconds>(axis().ns_per_px() * kSnapReach) + 1;
  Nanoseconds best = t, distance = reach;
  const Nanoseconds own = side.to_trace(t);
  for (std::uint32_t i = 0; i < track.lanes; ++i) {
    const trace::LaneInfo& lane = store.lanes()[track.first_lane + i];
    trace::SliceId slice = store.first_ending_after(track.first_lane + i, own - reach);
    for (int looked = 0; looked < 4 && slice < lane.first + lane.count; ++looked, ++slice)
      for (const Nanoseconds border : {store.start(slice), store.end(slice)})
        if (std::abs(border - own) < distance) {
          distance = std::abs(border - own);
          best = side.to_view(border);
        }
  }
  return best;
}

void TimelineView::drag_area(const QPoint& at, bool snaps) {
  const Nanoseconds now = axis().t_of(std::clamp(at.x(), gutter_, viewport()->width()) - gutter_);
  const Nanoseconds t = snaps ? snapped(now, at) : now;
  Area next = area_;
  next.start = std::min(drag_time_, t);
  next.end = std::max(drag_time_, t);
  if (drag_ == Drag::area) {
    next.tracks.clear();
    const int shift = rows_top() - verticalScrollBar()->value();
    const int from = drag_start_.y() < kRuler ? -1 : layout_.row_at(drag_start_.y() - shift),
              to = layout_.row_at(std::clamp(at.y(), rows_top(), viewport()->height() - 1) - shift);
    if (from >= 0) {
      const auto [first, last] =
          std::minmax({from, to < 0 ? static_cast<int>(layout_.rows.size()) - 1 : to});
      for (int i = first; i <= last; ++i) {
        const TimelineRow& row = layout_.rows[static_cast<std::size_t>(i)];
        const trace::TraceStore& store = *scene_.sides[row.side].facts.trace;
        if (row.side != 0) continue;
        if (row.kind == RowKind::track) next.tracks.push_back(row.id);
        // A closed rank stands for its tracks.
        if (row.kind == RowKind::rank && !row.is_open)
          for (std::uint32_t k = 0; k < store.ranks()[row.id].tracks; ++k)
            next.tracks.push_back(store.ranks()[row.id].first_track + k);
      }
    }
  }
  if (next == area_) return;
  area_ = std::move(next);
  viewport()->update();
  emit area_changed();
}

void TimelineView::toggle_row(const TimelineRow& row) {
  RowChoice& choice = scene_.sides[row.side].choice;
  if (row.kind == RowKind::node) {
    if (!choice.closed_nodes.erase(row.id)) choice.closed_nodes.insert(row.id);
  } else if (row.kind == RowKind::rank) {
    const bool opens = !choice.open_ranks.erase(row.id);
    if (opens) choice.open_ranks.insert(row.id);
    // Partners of a comparison open together.
    for (const auto& [a, b] : scene_.pairs) {
      if ((row.side == 0 ? a : b) != row.id) continue;
      auto& other = scene_.sides[row.side == 0 ? 1 : 0].choice.open_ranks;
      if (opens)
        other.insert(row.side == 0 ? b : a);
      else
        other.erase(row.side == 0 ? b : a);
    }
  } else {
    return;
  }
  relayout();
  emit rows_changed();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (scene_.is_empty()) return;
  setFocus(Qt::MouseFocusReason);
  const QPoint at = event->position().toPoint();
  drag_start_ = drag_now_ = at;
  drag_view_ = view_;
  drag_scroll_ = verticalScrollBar()->value();
  history_.end_gesture();
  const TimeAxis axis_now = axis();
  if (event->button() == Qt::RightButton) {
    const TimelineRow* row = row_under(at);
    const SliceRef slice = slice_at(at);
    if (slice.is_set()) select(slice);
    emit menu_wanted(event->globalPosition().toPoint(), slice,
                     row == nullptr ? -1 : static_cast<int>(row - layout_.rows.data()));
    return;
  }
  if (event->button() == Qt::MiddleButton) {
    drag_ = Drag::zoom;
    return;
  }
  if (event->button() != Qt::LeftButton) return;
  if (std::abs(at.x() - gutter_) <= kEdgeReach) {
    drag_ = Drag::gutter;
    return;
  }
  if (pinned_shown() > 0 && std::abs(at.y() - rows_top() + 2) <= kEdgeReach) {
    drag_ = Drag::pin_border;
    return;
  }
  if (at.x() < gutter_) {
    if (const TimelineRow* row = row_under(at)) toggle_row(*row);
    return;
  }
  if (event->modifiers() & Qt::ShiftModifier) {
    drag_ = Drag::pan;
    return;
  }
  if ((event->modifiers() & Qt::ControlModifier) && scene_.sides.size() > 1) {
    drag_ = Drag::offset;
    return;
  }
  if (!area_.is_empty()) {
    const double x0 = gutter_ + axis_now.x_of(area_.start), x1 = gutter_ + axis_now.x_of(area_.end);
    if (std::abs(at.x() - x0) <= kEdgeReach) {
      drag_ = Drag::area_begin;
      drag_time_ = area_.end;
      return;
    }
    if (std::abs(at.x() - x1) <= kEdgeReach) {
      drag_ = Drag::area_end;
      drag_time_ = area_.start;
      return;
    }
  }
  drag_ = Drag::area;
  drag_time_ = axis_now.t_of(at.x() - gutter_);
  if (!(event->modifiers() & Qt::AltModifier)) drag_time_ = snapped(drag_time_, at);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint at = event->position().toPoint();
  pointer_ = at;
  drag_now_ = at;
  const bool is_moved = (at - drag_start_).manhattanLength() > kClickSlop;
  switch (drag_) {
    case Drag::none: {
      const SliceRef now = slice_at(at);
      if (!(now == hovered_slice_)) {
        hovered_slice_ = now;
        if (scene_.shows_flows && !selected_.is_set()) is_stale_ = true;
      }
      emit hovered(
          at.x() > gutter_ && !scene_.is_empty()
              ? time_text(static_cast<double>(axis().t_of(at.x() - gutter_) - whole_.start))
              : QString());
      const bool is_on_edge =
          std::abs(at.x() - gutter_) <= kEdgeReach ||
          (!area_.is_empty() &&
           (std::abs(at.x() - gutter_ - axis().x_of(area_.start)) <= kEdgeReach ||
            std::abs(at.x() - gutter_ - axis().x_of(area_.end)) <= kEdgeReach));
      viewport()->setCursor(is_on_edge ? Qt::SplitHCursor
                            : pinned_shown() > 0 && std::abs(at.y() - rows_top() + 2) <= kEdgeReach
                                ? Qt::SplitVCursor
                                : Qt::ArrowCursor);
      break;
    }
    case Drag::area:
      if (is_moved) drag_area(at, !(event->modifiers() & Qt::AltModifier));
      break;
    case Drag::area_begin:
    case Drag::area_end:
      drag_area(at, !(event->modifiers() & Qt::AltModifier));
      break;
    case Drag::pan: {
      const auto by =
          static_cast<Nanoseconds>(std::llround((drag_start_.x() - at.x()) * axis().ns_per_px()));
      set_view(panned(drag_view_, by, whole_), true, true);
      verticalScrollBar()->setValue(drag_scroll_ + drag_start_.y() - at.y());
      break;
    }
    case Drag::gutter:
      set_gutter(at.x());
      break;
    case Drag::pin_border:
      pinned_limit_ = std::clamp(at.y() - kRuler, 30, std::max(31, viewport()->height() / 2));
      update_scroll_range();
      repaint_rows();
      break;
    case Drag::offset:
      emit offset_dragged(std::llround((at.x() - drag_start_.x()) * axis().ns_per_px()));
      drag_start_ = at;
      break;
    case Drag::zoom:
      break;
  }
  viewport()->update();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const QPoint at = event->position().toPoint();
  const Drag was = std::exchange(drag_, Drag::none);
  const bool is_click = (at - drag_start_).manhattanLength() <= kClickSlop;
  if (was == Drag::zoom && !is_click) {
    const TimeAxis axis_now = axis();
    const auto [low, high] = std::minmax({drag_start_.x(), at.x()});
    set_view({axis_now.t_of(low - gutter_),
              std::max(axis_now.t_of(low - gutter_) + 1, axis_now.t_of(high - gutter_))});
  }
  if (was == Drag::area && is_click) {
    select(slice_at(at));
    if (!selected_.is_set() && !area_.is_empty()) set_area({});
  } else if (was == Drag::area || was == Drag::area_begin || was == Drag::area_end) {
    record(false);
    emit area_changed();
  }
  if (was == Drag::gutter) emit rows_changed();
  viewport()->update();
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const SliceRef slice = slice_at(event->position().toPoint());
  if (!slice.is_set()) return;
  select(slice);
  fit_selection();
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  if (scene_.is_empty()) return;
  pointer_ = event->position().toPoint();
  const QPoint degrees = event->angleDelta();
  const double notches = (degrees.y() != 0 ? degrees.y() : degrees.x()) / 120.0;
  if (event->modifiers() & Qt::ControlModifier) {
    const double x = std::clamp(event->position().x() - gutter_, 0.0, axis().width);
    set_view(zoomed(view_, std::pow(kWheelZoom, -notches), axis().t_of(x), whole_), true, true);
  } else if ((event->modifiers() & Qt::ShiftModifier) || (degrees.y() == 0 && degrees.x() != 0)) {
    set_view(panned(view_,
                    static_cast<Nanoseconds>(
                        std::llround(-notches * kWheelPan * static_cast<double>(view_.length()))),
                    whole_),
             true, true);
  } else {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(notches * 66));
  }
  event->accept();
}

void TimelineView::leaveEvent(QEvent*) {
  pointer_.reset();
  hovered_slice_ = {};
  emit hovered({});
  viewport()->update();
}

QString TimelineView::tip_for(const QPoint& at) const {
  const TimelineRow* row = row_under(at);
  if (row == nullptr) return {};
  const SceneSide& side = scene_.sides[row->side];
  const trace::TraceStore& store = *side.facts.trace;
  const SliceRef slice = slice_at(at);
  if (slice.is_set()) {
    QString text =
        QString("<b>%1</b><br>%2, %3<br>starts %4")
            .arg(QString::fromUtf8(store.name(slice.slice).data(),
                                   static_cast<qsizetype>(store.name(slice.slice).size()))
                     .toHtmlEscaped(),
                 time_text(static_cast<double>(store.duration(slice.slice))),
                 category_label(store.category(slice.slice)),
                 time_text(static_cast<double>(store.start(slice.slice) - store.begin())));
    const TimeAxis axis_now = axis();
    if (static_cast<double>(store.duration(slice.slice)) < axis_now.ns_per_px()) {
      const trace::LaneId lane = store.lane_of(slice.slice);
      const Nanoseconds t = side.to_trace(axis_now.t_of(at.x() - gutter_));
      const auto px = static_cast<Nanoseconds>(axis_now.ns_per_px());
      const auto count = static_cast<std::int64_t>(store.first_starting_at(lane, t + px)) -
                         static_cast<std::int64_t>(store.first_ending_after(lane, t - px));
      if (count > 1)
        text +=
            QString("<br>about %1 slices within 2 pixels; zoom in to tell them apart").arg(count);
    }
    return text;
  }
  if (row->kind == RowKind::rank)
    return QString::fromStdString(store.ranks()[row->id].label) +
           ": state of the rank; click in the gutter for its streams";
  if (row->kind == RowKind::track)
    return QString::fromStdString(store.tracks()[row->id].label) + ", " +
           QString::fromStdString(store.ranks()[store.tracks()[row->id].rank].label);
  if (row->kind == RowKind::counter) return QString::fromStdString(store.counters()[row->id].name);
  if (row->kind == RowKind::delta)
    return "Time of the step in B minus A: the deepest colour is 10 % of the step";
  return {};
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = tip_for(help->pos());
    if (text.isEmpty())
      QToolTip::hideText();
    else
      QToolTip::showText(help->globalPos(), text, viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}
}  // namespace stepcast::gui
