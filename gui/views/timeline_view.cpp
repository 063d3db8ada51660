#include "gui/views/timeline_view.hpp"

#include <QEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

namespace stepcast::gui {
namespace {
constexpr int kMinimapFrom = 2;  // screens of rows: below, the scroll bar says enough
}  // namespace

TimelineView::TimelineView(QWidget* parent)
    : QAbstractScrollArea(parent), minimap_(new MinimapView(this)) {
  minimap_->hide();
  connect(minimap_, &MinimapView::scroll_wanted, this,
          [this](int top) { verticalScrollBar()->setValue(top); });
  setFrameShape(QFrame::NoFrame);
  viewport()->setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setMinimumSize(320, 140);
  setAccessibleName("Timeline");
}

void TimelineView::set_scene(TimelineScene scene, bool keeps_view) {
  const bool had_rows = !scene_.is_empty();
  const bool is_other_trace =
      !had_rows || scene.is_empty() || scene.sides[0].facts.trace != scene_.sides[0].facts.trace;
  const bool showed_all = had_rows && view_ == fitted(whole_, whole_);
  scene_ = std::move(scene);
  whole_ = extent_of(scene_).value_or(TimeRange{0, 1});
  if (bounds_ && !scene_.is_empty())
    whole_ = {std::min(whole_.start, bounds_->start), std::max(whole_.end, bounds_->end)};
  const bool starts_anew = !keeps_view || !had_rows;
  if (is_other_trace || starts_anew) {
    // Ids of slices and tracks are those of one store.
    selected_ = hovered_slice_ = {};
    area_ = {};
    history_.clear();
  }
  if (selected_.side >= static_cast<int>(scene_.sides.size())) selected_ = {};
  if (starts_anew) verticalScrollBar()->setValue(0);
  if (starts_anew || showed_all) view_ = fitted(whole_, whole_);
  relayout();
  if (is_other_trace || starts_anew) record(false);
  emit view_changed(view_, verticalScrollBar()->value());
}

std::optional<TimeRange> TimelineView::extent_of(const TimelineScene& scene) {
  std::optional<TimeRange> all;
  for (const SceneSide& side : scene.sides) {
    if (side.facts.trace == nullptr || side.facts.trace->slices() == 0) continue;
    const Nanoseconds begin = side.to_view(side.facts.trace->begin()),
                      end = std::max(begin + 1, side.to_view(side.facts.trace->end()));
    all = all ? TimeRange{std::min(all->start, begin), std::max(all->end, end)}
              : TimeRange{begin, end};
  }
  return all;
}

void TimelineView::relayout() {
  layout_ = {};
  pinned_ = {};
  if (!scene_.is_empty()) {
    if (scene_.sides.size() > 1)
      layout_ = interleaved_rows({scene_.sides[0].facts.trace.get(), &scene_.sides[0].choice},
                                 {scene_.sides[1].facts.trace.get(), &scene_.sides[1].choice},
                                 scene_.pairs);
    else
      layout_ = rows_of(*scene_.sides[0].facts.trace, scene_.sides[0].choice);
    pinned_ = pinned_rows(*scene_.sides[0].facts.trace, scene_.sides[0].choice);
  }
  std::vector<TraceFacts> sides;
  for (const SceneSide& side : scene_.sides) sides.push_back(side.facts);
  minimap_->set_rows(layout_, std::move(sides));
  update_scroll_range();
  repaint_rows();
}

void TimelineView::repaint_rows() {
  is_stale_ = true;
  viewport()->update();
}

int TimelineView::pinned_shown() const {
  return pinned_.rows.empty() ? 0 : std::min(pinned_.height, pinned_limit_) + 3;
}

void TimelineView::update_scroll_range() {
  const int shown = std::max(1, viewport()->height() - rows_top());
  verticalScrollBar()->setRange(0, std::max(0, layout_.height - shown));
  verticalScrollBar()->setPageStep(shown);
  verticalScrollBar()->setSingleStep(24);
  // The minimap stands where rows are out of sight; the viewport makes room for it.
  const bool is_wanted = layout_.height > shown * kMinimapFrom;
  if (is_wanted == minimap_->isHidden()) {
    minimap_->setVisible(is_wanted);
    setViewportMargins(0, 0, is_wanted ? MinimapView::kWidth : 0, 0);
  }
  update_minimap();
}

void TimelineView::update_minimap() {
  const QRect shown = viewport()->geometry();
  minimap_->setGeometry(shown.right() + 1, shown.top(), MinimapView::kWidth, shown.height());
  const bool has_selection =
      selected_.is_set() && selected_.side < static_cast<int>(scene_.sides.size());
  const int row =
      has_selection
          ? layout_.row_of_track(
                *scene_.sides[static_cast<std::size_t>(selected_.side)].facts.trace,
                scene_.sides[static_cast<std::size_t>(selected_.side)].facts.trace->track_of(
                    selected_.slice),
                selected_.side)
          : -1;
  minimap_->set_view(verticalScrollBar()->value(), std::max(1, viewport()->height() - rows_top()),
                     row);
}

TimeAxis TimelineView::axis() const {
  return {view_, std::max(1.0, static_cast<double>(viewport()->width() - gutter_))};
}

ViewState TimelineView::state() const {
  // Slices of two sides share the record: the side is the lowest bit.
  return {view_, verticalScrollBar()->value(),
          selected_.is_set() ? static_cast<std::int64_t>(selected_.slice) * 2 + selected_.side : -1,
          area_};
}

void TimelineView::record(bool merges) {
  if (is_applying_) return;
  history_.record(state(), merges);
  emit history_changed(history_.can_undo(), history_.can_redo());
}

void TimelineView::apply(const ViewState& state) {
  is_applying_ = true;
  view_ = state.time;
  area_ = state.area;
  const SliceRef slice = state.selected < 0
                             ? SliceRef{}
                             : SliceRef{static_cast<int>(state.selected % 2),
                                        static_cast<trace::SliceId>(state.selected / 2)};
  verticalScrollBar()->setValue(state.scroll);
  if (!(slice == selected_)) {
    selected_ = slice;
    emit slice_selected(selected_);
  }
  repaint_rows();
  emit area_changed();
  emit view_changed(view_, verticalScrollBar()->value());
  is_applying_ = false;
  emit history_changed(history_.can_undo(), history_.can_redo());
}

void TimelineView::undo_view() {
  if (history_.can_undo()) apply(history_.undo());
}
void TimelineView::redo_view() {
  if (history_.can_redo()) apply(history_.redo());
}

void TimelineView::set_view(const TimeRange& view, bool is_recorded, bool merges) {
  const TimeRange next = clamped(view, whole_);
  if (next == view_) return;
  view_ = next;
  repaint_rows();
  if (is_recorded) record(merges);
  emit view_changed(view_, verticalScrollBar()->value());
}

void TimelineView::select(SliceRef slice, bool is_revealed) {
  if (!(slice == selected_)) {
    selected_ = slice;
    repaint_rows();
    record(false);
    emit slice_selected(selected_);
  }
  if (is_revealed && slice.is_set()) reveal(slice);
}

void TimelineView::set_area(Area area) {
  if (area == area_) return;
  area_ = std::move(area);
  viewport()->update();
  record(false);
  emit area_changed();
}

std::vector<trace::LaneId> TimelineView::area_lanes() const {
  std::vector<trace::LaneId> lanes;
  if (scene_.is_empty()) return lanes;
  const trace::TraceStore& store = *scene_.sides[0].facts.trace;
  for (const std::uint32_t track : area_.tracks)
    for (std::uint32_t i = 0; i < store.tracks()[track].lanes; ++i)
      lanes.push_back(store.tracks()[track].first_lane + i);
  return lanes;
}

void TimelineView::scroll_to_row(int row) {
  if (row < 0 || row >= static_cast<int>(layout_.rows.size())) return;
  const TimelineRow& r = layout_.rows[static_cast<std::size_t>(row)];
  const int shown = viewport()->height() - rows_top(), top = verticalScrollBar()->value();
  if (r.y < top + 48 || r.bottom() > top + shown)
    verticalScrollBar()->setValue(std::max(0, r.y - shown / 3));
}

void TimelineView::reveal(SliceRef slice) {
  if (!slice.is_set() || slice.side >= static_cast<int>(scene_.sides.size())) return;
  SceneSide& side = scene_.sides[static_cast<std::size_t>(slice.side)];
  const trace::TraceStore& store = *side.facts.trace;
  const trace::TrackId track = store.track_of(slice.slice);
  const trace::RankId rank = store.tracks()[track].rank;
  const bool was_closed = !side.choice.open_ranks.contains(rank) ||
                          side.choice.hidden.contains(track) ||
                          side.choice.closed_nodes.contains(store.ranks()[rank].node);
  if (was_closed) {
    side.choice.open_ranks.insert(rank);
    side.choice.hidden.erase(track);
    side.choice.closed_nodes.erase(store.ranks()[rank].node);
    relayout();
    emit rows_changed();
  }
  scroll_to_row(layout_.row_of_track(store, track, slice.side));
  const Nanoseconds begin = side.to_view(store.start(slice.slice)),
                    end = side.to_view(store.end(slice.slice));
  if (begin < view_.start || end > view_.end ||
      static_cast<double>(end - begin) < axis().ns_per_px() * 2) {
    // Centre it; closer only when it would be too small to see.
    Nanoseconds length = view_.length();
    if (static_cast<double>(end - begin) < axis().ns_per_px() * 2)
      length = std::max<Nanoseconds>((end - begin) * 40, kShortestView);
    if (end - begin > length) length = (end - begin) * 11 / 10;
    const Nanoseconds middle = begin + (end - begin) / 2;
    set_view({middle - length / 2, middle + length - length / 2});
  }
}

void TimelineView::set_marks(std::vector<TimeMark> marks) {
  marks_ = std::move(marks);
  viewport()->update();
}
void TimelineView::set_gutter(int width) {
  gutter_ = std::clamp(width, 80, std::max(81, viewport()->width() / 2));
  repaint_rows();
}

Nanoseconds TimelineView::anchor() const {
  if (pointer_ && pointer_->x() > gutter_ && pointer_->x() < viewport()->width())
    return axis().t_of(pointer_->x() - gutter_);
  return view_.start + view_.length() / 2;
}

void TimelineView::resizeEvent(QResizeEvent*) {
  update_scroll_range();
  is_stale_ = true;
  emit view_changed(view_, verticalScrollBar()->value());
}
void TimelineView::scrollContentsBy(int, int) {
  repaint_rows();
  record(true);
  emit view_changed(view_, verticalScrollBar()->value());
}
void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) repaint_rows();
  QAbstractScrollArea::changeEvent(event);
}
}  // namespace stepcast::gui
