#include "gui/document/compare_document.hpp"

namespace stepcast::gui {
CompareDocument::CompareDocument(Workspace& workspace)
    : QObject(&workspace), workspace_(workspace) {
  for (TraceDocument* document : {&workspace.a, &workspace.b}) {
    connect(document, &TraceDocument::trace_changed, this, [this] {
      working_.stop();
      facts_ = {};
      map_.reset();
      emit changed();
    });
    // Everything compared rests on slices and steps only; the rest of the facts may come later.
    connect(document, &TraceDocument::facts_changed, this, [this] {
      if (!is_ready() && !is_working()) restart();
    });
  }
}

void CompareDocument::restart() {
  const TraceFacts a = workspace_.a.facts(), b = workspace_.b.facts();
  working_.stop();
  facts_ = {};
  map_.reset();
  if (!a.trace || !b.trace || !a.steps || !b.steps) {
    emit changed();
    return;
  }
  working_.start(
      [a, b, threshold = threshold_](std::stop_token stop) {
        Facts f;
        auto match = std::make_shared<trace::Match>(
            trace::match_traces(*a.trace, *a.steps, *b.trace, *b.steps, {}, stop));
        f.detail = trace::common_detail(*a.trace, *b.trace, *match);
        f.by_name = trace::delta_table(*a.trace, *a.steps, *b.trace, *b.steps, trace::DeltaBy::name,
                                       threshold, f.detail);
        f.by_category = trace::delta_table(*a.trace, *a.steps, *b.trace, *b.steps,
                                           trace::DeltaBy::category, threshold, f.detail);
        f.waterfall = trace::waterfall(*a.trace, *a.steps, *b.trace, *b.steps, *match);
        f.accuracy = trace::accuracy(*a.trace, *a.steps, *b.trace, *b.steps, *match);
        f.deltas =
            std::make_shared<trace::DeltaMatrix>(trace::step_deltas(*a.steps, *b.steps, *match));
        f.match = match;
        f.partner_of_a = {match, &match->partner_of_a};
        f.partner_of_b = {match, &match->partner_of_b};
        return f;
      },
      [this](Facts facts) {
        facts_ = std::move(facts);
        rebuild_map();
        emit changed();
      },
      [this](const QString& problem) { emit failed(problem); });
}

SliceRef CompareDocument::partner_of(SliceRef slice) const {
  const auto& list = slice.side == 0 ? facts_.partner_of_a : facts_.partner_of_b;
  if (!slice.is_set() || !list || slice.slice >= list->size() ||
      (*list)[slice.slice] == trace::kNoId)
    return {};
  return {1 - slice.side, (*list)[slice.slice]};
}

void CompareDocument::rebuild_map() {
  const TraceFacts &a = workspace_.a.facts(), &b = workspace_.b.facts();
  if (!facts_.match || !a.steps || !b.steps) return;
  map_ = std::make_shared<trace::TimeMap>(trace::TimeMap::make(
      alignment_, *a.trace, *a.steps, *b.trace, *b.steps, *facts_.match, offset_, is_scaled_));
  emit map_changed();
}
void CompareDocument::set_alignment(trace::Alignment alignment) {
  if (alignment == trace::Alignment::manual && alignment_ != trace::Alignment::manual && map_ &&
      workspace_.a.is_open())
    offset_ = map_->b_to_a(workspace_.b.trace().begin()) -
              workspace_.b.trace().begin();  // what was seen stays where it was
  alignment_ = alignment;
  rebuild_map();
}
void CompareDocument::set_scaled(bool is_scaled) {
  is_scaled_ = is_scaled;
  rebuild_map();
}
void CompareDocument::set_offset(Nanoseconds offset) {
  alignment_ = trace::Alignment::manual;
  offset_ = offset;
  rebuild_map();
}
void CompareDocument::set_threshold(double threshold) {
  threshold_ = threshold;
  restart();
}
}  // namespace stepcast::gui
