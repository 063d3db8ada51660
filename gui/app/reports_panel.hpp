#pragma once
#include <memory>

#include "gui/app/panel.hpp"
#include "gui/views/chart_view.hpp"
#include "sim/io/json_fwd.hpp"

namespace stepcast::gui {
/// Two report.json files against each other, without any trace: from A's step to B's by category,
/// and every figure with its difference.
class ReportsPanel : public Panel {
  Q_OBJECT
 public:
  ReportsPanel(Workspace& workspace, QWidget* parent);
  ~ReportsPanel() override;
  /// Answers the problem, or "".
  QString compare(const QString& a, const QString& b);
  ChartView& chart() { return *chart_; }
  TableView& figures() { return *figures_; }
  /// Whether the file is a report of `stepcast simulate`, and no trace.
  static bool is_report(const QString& path);

 protected:
  void rebuild() override;

 private:
  QLabel* head_;
  ChartView* chart_;
  TableView* figures_;
  std::unique_ptr<Json> comparison_;  // null: none yet
};
}  // namespace stepcast::gui
