#pragma once
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QTabWidget>

#include "gui/app/panel.hpp"
#include "gui/document/compare_document.hpp"
#include "gui/views/chart_view.hpp"

namespace stepcast::gui {
/// Two traces: how they are laid over each other, what changed, how far a prediction is off.
class ComparePanel : public Panel {
  Q_OBJECT
 public:
  ComparePanel(Workspace& workspace, CompareDocument& compare, QWidget* parent);
  ChartView& waterfall() { return *waterfall_; }
  TableView& deltas() { return *deltas_; }
  QTabWidget& tabs() { return *tabs_; }
  QComboBox& layout_choice() { return *layout_; }

 signals:
  void layout_chosen(bool is_interleaved);

 protected:
  void rebuild() override;

 private:
  void rebuild_accuracy();
  CompareDocument& compare_;
  QLabel* head_;
  QComboBox *layout_, *alignment_, *by_, *error_by_;
  QCheckBox *scaled_, *hides_;
  QDoubleSpinBox *threshold_, *offset_;
  QTabWidget* tabs_;
  TableView *deltas_, *unmatched_, *errors_, *worst_;
  ChartView *waterfall_, *scatter_;
  QLabel* headline_;
};
ChartData waterfall_chart(const trace::Waterfall& w);
ChartData accuracy_chart(const trace::Accuracy& a);
}  // namespace stepcast::gui
