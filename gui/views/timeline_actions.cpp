#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/views/timeline_view.hpp"

/// What keys, palette and menus do on the timeline.
namespace stepcast::gui {
void TimelineView::zoom_by(double factor) {
  set_view(zoomed(view_, factor, anchor(), whole_), true, true);
}
void TimelineView::pan_by(double share) {
  set_view(
      panned(view_,
             static_cast<Nanoseconds>(std::llround(share * static_cast<double>(view_.length()))),
             whole_),
      true, true);
}
void TimelineView::scroll_rows(int pixels) {
  verticalScrollBar()->setValue(verticalScrollBar()->value() + pixels);
}
void TimelineView::fit_all() {
  history_.end_gesture();
  set_view(fitted(whole_, whole_));
}

void TimelineView::fit_selection() {
  history_.end_gesture();
  if (selected_.is_set()) {
    const SceneSide& side = scene_.sides[static_cast<std::size_t>(selected_.side)];
    const Nanoseconds begin = side.to_view(side.facts.trace->start(selected_.slice)),
                      end = side.to_view(side.facts.trace->end(selected_.slice));
    reveal(selected_);
    set_view(fitted({begin, std::max(begin + 1, end)}, whole_));
  } else if (!area_.is_empty()) {
    set_view(fitted({area_.start, area_.end}, whole_));
  } else {
    fit_all();
  }
}

void TimelineView::step_slice(int direction) {
  if (scene_.is_empty()) return;
  if (!selected_.is_set()) {
    // The first slice in view of the first open track.
    const auto [first, last] = layout_.visible(verticalScrollBar()->value(),
                                               verticalScrollBar()->value() + viewport()->height());
    for (std::size_t i = first; i < last; ++i) {
      const TimelineRow& row = layout_.rows[i];
      if (row.kind != RowKind::track) continue;
      const trace::TraceStore& store = *scene_.sides[row.side].facts.trace;
      const trace::TrackInfo& track = store.tracks()[row.id];
      if (track.lanes == 0) continue;
      const trace::LaneInfo& lane = store.lanes()[track.first_lane];
      const trace::SliceId slice =
          store.first_starting_at(track.first_lane, scene_.sides[row.side].to_trace(view_.start));
      if (slice < lane.first + lane.count) {
        select({row.side, slice}, true);
        return;
      }
    }
    return;
  }
  const trace::TraceStore& store =
      *scene_.sides[static_cast<std::size_t>(selected_.side)].facts.trace;
  const trace::LaneInfo& lane = store.lanes()[store.lane_of(selected_.slice)];
  const std::int64_t next = static_cast<std::int64_t>(selected_.slice) + direction;
  if (next < lane.first || next >= static_cast<std::int64_t>(lane.first) + lane.count) return;
  select({selected_.side, static_cast<trace::SliceId>(next)}, true);
}
void TimelineView::next_slice() { step_slice(1); }
void TimelineView::previous_slice() { step_slice(-1); }

void TimelineView::step_flow(bool is_forward) {
  if (!selected_.is_set()) return;
  const trace::TraceStore& store =
      *scene_.sides[static_cast<std::size_t>(selected_.side)].facts.trace;
  for (const std::uint32_t flow :
       is_forward ? store.flows_from(selected_.slice) : store.flows_into(selected_.slice)) {
    const trace::SliceId other = is_forward ? store.flows()[flow].to : store.flows()[flow].from;
    if (other == trace::kNoId) continue;
    select({selected_.side, other}, true);
    return;
  }
}
void TimelineView::next_flow() { step_flow(true); }
void TimelineView::previous_flow() { step_flow(false); }

void TimelineView::toggle_pin() {
  if (scene_.is_empty()) return;
  trace::TrackId track = trace::kNoId;
  if (selected_.is_set() && selected_.side == 0)
    track = scene_.sides[0].facts.trace->track_of(selected_.slice);
  else if (pointer_)
    if (const TimelineRow* row = row_under(*pointer_);
        row != nullptr && row->side == 0 && row->kind == RowKind::track)
      track = row->id;
  if (track == trace::kNoId) return;
  auto& pinned = scene_.sides[0].choice.pinned;
  const auto at = std::find(pinned.begin(), pinned.end(), track);
  if (at == pinned.end())
    pinned.push_back(track);
  else
    pinned.erase(at);
  relayout();
  emit rows_changed();
}

void TimelineView::hide_row() {
  if (scene_.is_empty()) return;
  SliceRef of = selected_;
  trace::TrackId track = trace::kNoId;
  std::uint8_t side = 0;
  if (of.is_set()) {
    side = static_cast<std::uint8_t>(of.side);
    track = scene_.sides[side].facts.trace->track_of(of.slice);
  } else if (pointer_) {
    if (const TimelineRow* row = row_under(*pointer_);
        row != nullptr && row->kind == RowKind::track) {
      track = row->id;
      side = row->side;
    }
  }
  if (track == trace::kNoId) return;
  scene_.sides[side].choice.hidden.insert(track);
  relayout();
  emit rows_changed();
}

void TimelineView::show_all_rows() {
  for (SceneSide& side : scene_.sides) side.choice.hidden.clear();
  relayout();
  emit rows_changed();
}

void TimelineView::expand_all() {
  for (SceneSide& side : scene_.sides) {
    side.choice.closed_nodes.clear();
    for (trace::RankId rank = 0; rank < side.facts.trace->ranks().size(); ++rank)
      side.choice.open_ranks.insert(rank);
  }
  relayout();
  emit rows_changed();
}
void TimelineView::collapse_all() {
  for (SceneSide& side : scene_.sides) side.choice.open_ranks.clear();
  relayout();
  emit rows_changed();
}

void TimelineView::clear_selection() {
  // First the slice, then the area, so that one key never loses both.
  if (selected_.is_set())
    select({});
  else if (!area_.is_empty())
    set_area({});
}

void TimelineView::area_from_selection() {
  if (!selected_.is_set()) return;
  const SceneSide& side = scene_.sides[static_cast<std::size_t>(selected_.side)];
  const trace::TraceStore& store = *side.facts.trace;
  Area area{
      side.to_view(store.start(selected_.slice)), side.to_view(store.end(selected_.slice)), {}};
  if (selected_.side == 0) area.tracks.push_back(store.track_of(selected_.slice));
  set_area(std::move(area));
}

void TimelineView::change_row_height(int pixels) {
  for (SceneSide& side : scene_.sides)
    side.choice.lane_height = std::clamp(side.choice.lane_height + pixels, 6, 48);
  relayout();
}
}  // namespace stepcast::gui
