#pragma once
#include <QObject>
#include <memory>
#include <vector>

#include "gui/document/background.hpp"
#include "gui/document/workspace.hpp"
#include "sim/timeline/match/match.hpp"

namespace stepcast::gui {
/// What two opened traces have in common and where they differ; derived on a worker when both are
/// ready.
class CompareDocument : public QObject {
  Q_OBJECT
 public:
  explicit CompareDocument(Workspace& workspace);
  struct Facts {
    std::shared_ptr<const trace::Match> match;
    trace::CommonDetail detail;
    std::vector<trace::Delta> by_name, by_category;
    trace::Waterfall waterfall;
    trace::Accuracy accuracy;
    std::shared_ptr<const trace::DeltaMatrix> deltas;
    std::shared_ptr<const std::vector<trace::SliceId>> partner_of_a, partner_of_b;
  };
  bool is_ready() const { return facts_.match != nullptr; }
  bool is_working() const { return working_.is_running(); }
  const Facts& facts() const { return facts_; }
  SliceRef partner_of(SliceRef slice) const;

  trace::Alignment alignment() const { return alignment_; }
  void set_alignment(trace::Alignment alignment);
  bool is_scaled() const { return is_scaled_; }
  void set_scaled(bool is_scaled);
  Nanoseconds offset() const { return offset_; }
  void set_offset(Nanoseconds offset);  // alignment becomes manual
  /// Relative change of the mean below which an op counts as unchanged.
  double threshold() const { return threshold_; }
  void set_threshold(double threshold);
  /// B's times on A's axis; null without a comparison.
  std::shared_ptr<const trace::TimeMap> time_map() const { return map_; }
  /// Derives again (the traces changed).
  void restart();

 signals:
  void changed();
  void map_changed();
  void failed(const QString& problem);

 private:
  void rebuild_map();
  Workspace& workspace_;
  Facts facts_;
  Background working_;
  trace::Alignment alignment_ = trace::Alignment::first_common_step;
  bool is_scaled_ = false;
  Nanoseconds offset_ = 0;
  double threshold_ = 0.02;
  std::shared_ptr<const trace::TimeMap> map_;
};
}  // namespace stepcast::gui
