#pragma once
#include <QObject>
#include <QString>
#include <memory>
#include <vector>

#include "gui/document/trace_document.hpp"
#include "sim/timeline/filter/filter.hpp"
#include "sim/timeline/session/session.hpp"

namespace stepcast::gui {
/// A slice of trace A (side 0) or B (side 1).
struct SliceRef {
  int side = 0;
  trace::SliceId slice = trace::kNoId;
  bool is_set() const { return slice != trace::kNoId; }
  friend bool operator==(const SliceRef&, const SliceRef&) = default;
};

/// What the panels share: the traces, what is selected, what is filtered, what the user wrote down.
class Workspace : public QObject {
  Q_OBJECT
 public:
  explicit Workspace(QObject* parent = nullptr);
  TraceDocument a, b;
  TraceDocument& document(int side) { return side == 0 ? a : b; }
  bool is_comparing() const { return b.is_open(); }

  SliceRef selected() const { return selected_; }
  void select(SliceRef slice);
  /// The marked part of A: empty lanes = all; begin == end = nothing marked.
  const trace::Area& area() const { return area_; }
  bool has_area() const { return area_.end > area_.begin; }
  void set_area(trace::Area area);
  /// The area, or the whole trace when nothing is marked.
  trace::Area area_or_all() const;

  /// Parses and binds; answers the problem (with its place) or "". An empty text clears it.
  QString set_filter(const QString& text);
  const QString& filter_text() const { return filter_text_; }
  std::shared_ptr<const trace::BoundFilter> filter(int side) const {
    return side == 0 ? filter_a_ : filter_b_;
  }
  const trace::BoundFilter::Hits& hits() const { return hits_; }

  std::vector<trace::SessionBookmark> bookmarks;
  std::vector<trace::SessionNote> notes;
  void notes_changed() { emit notes_edited(); }

  /// "rank 3/compute": how a session names a track, and the track of a name (kNoId when this trace
  /// has none).
  static std::string track_path(const trace::TraceStore& store, trace::TrackId track);
  static trace::TrackId track_of_path(const trace::TraceStore& store, const std::string& path);

 signals:
  void selection_changed(const stepcast::gui::SliceRef& slice);
  void area_changed();
  void filter_changed();
  void hits_changed();
  void notes_edited();
  void jump_wanted(const stepcast::gui::SliceRef& slice);
  void range_wanted(qlonglong begin, qlonglong end);
  void rank_wanted(uint rank);
  void status(const QString& text);

 private:
  void rebind_filter();
  SliceRef selected_;
  trace::Area area_;
  QString filter_text_;
  trace::Filter filter_;
  std::shared_ptr<const trace::BoundFilter> filter_a_, filter_b_;
  trace::BoundFilter::Hits hits_;
  Background searching_;
};
}  // namespace stepcast::gui
Q_DECLARE_METATYPE(stepcast::gui::SliceRef)
