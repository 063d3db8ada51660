#include "gui/document/workspace.hpp"

namespace stepcast::gui {
Workspace::Workspace(QObject* parent) : QObject(parent) {
  for (TraceDocument* document : {&a, &b}) {
    connect(document, &TraceDocument::trace_changed, this, [this](bool is_final) {
      if (is_final) rebind_filter();
    });
    connect(document, &TraceDocument::facts_changed, this, [this, document] {
      // The field `step` needs the steps, which come after the slices.
      if (document->facts().steps && !document->facts().matrix) rebind_filter();
    });
  }
}

void Workspace::select(SliceRef slice) {
  if (slice == selected_) return;
  selected_ = slice;
  emit selection_changed(selected_);
}

void Workspace::set_area(trace::Area area) {
  area_ = std::move(area);
  emit area_changed();
}
trace::Area Workspace::area_or_all() const {
  return has_area() || !a.is_open() ? area_ : trace::Area::all(a.trace());
}

QString Workspace::set_filter(const QString& text) {
  auto parsed = trace::Filter::parse(text.trimmed().toStdString());
  if (const auto* error = std::get_if<trace::FilterError>(&parsed)) {
    QString problem =
        QString::fromStdString(error->message) + QString(" at %1").arg(error->position + 1);
    if (!error->hint.empty()) problem += "; " + QString::fromStdString(error->hint);
    return problem;
  }
  filter_text_ = text.trimmed();
  filter_ = std::get<trace::Filter>(std::move(parsed));
  rebind_filter();
  return {};
}

void Workspace::rebind_filter() {
  filter_a_.reset();
  filter_b_.reset();
  hits_ = {};
  searching_.stop();
  if (!filter_.is_everything()) {
    if (a.is_open())
      filter_a_ =
          std::make_shared<trace::BoundFilter>(filter_, a.facts().trace, a.facts().steps.get());
    if (b.is_open())
      filter_b_ =
          std::make_shared<trace::BoundFilter>(filter_, b.facts().trace, b.facts().steps.get());
    if (filter_a_)
      searching_.start([bound = filter_a_, steps = a.facts().steps](
                           std::stop_token stop) { return bound->find(1'000'000, stop); },
                       [this](trace::BoundFilter::Hits hits) {
                         hits_ = std::move(hits);
                         emit hits_changed();
                       });
  }
  emit filter_changed();
  emit hits_changed();
}

std::string Workspace::track_path(const trace::TraceStore& store, trace::TrackId track) {
  const trace::TrackInfo& info = store.tracks()[track];
  return store.ranks()[info.rank].label + "/" + info.label;
}
trace::TrackId Workspace::track_of_path(const trace::TraceStore& store, const std::string& path) {
  for (trace::TrackId track = 0; track < store.tracks().size(); ++track)
    if (track_path(store, track) == path) return track;
  return trace::kNoId;
}
}  // namespace stepcast::gui
