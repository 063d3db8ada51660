#pragma once
#include <QComboBox>
#include <QLineEdit>
#include <QTabWidget>

#include "gui/app/panel.hpp"
#include "gui/document/background.hpp"
#include "gui/views/chart_view.hpp"
#include "sim/timeline/read/slice_args.hpp"

/// The panels of the details dock that follow the selection.
namespace stepcast::gui {
/// One slice: its fields, its arguments, its arrows and its partner.
class SlicePanel : public Panel {
  Q_OBJECT
 public:
  SlicePanel(Workspace& workspace, QWidget* parent);
  /// The slice as text, one field a line; as JSON with its arguments as in the file.
  QString text() const;
  QString json() const;
  void set_partner(SliceRef partner);

 protected:
  void rebuild() override;

 private:
  Table fields() const;
  QLabel* head_;
  TableView *fields_, *links_;
  std::optional<trace::SliceArgs> args_;
  bool is_reading_ = false;
  SliceRef partner_;
  Background reading_;
};

/// The marked area: sums by two keys, trimmed to its borders; and its slices.
class AreaPanel : public Panel {
  Q_OBJECT
 public:
  AreaPanel(Workspace& workspace, QWidget* parent);
  TableView& sums() { return *sums_; }
  TableView& slices() { return *slices_; }

 protected:
  void rebuild() override;

 private:
  void show_slices();
  QLabel* head_;
  QComboBox *first_, *second_;
  QTabWidget* tabs_;
  TableView *sums_, *slices_;
  Background summing_, listing_;
};

/// Every op with its statistics; the chosen one as a histogram whose dragged bounds filter the
/// timeline.
class OpPanel : public Panel {
  Q_OBJECT
 public:
  OpPanel(Workspace& workspace, QWidget* parent);
  TableView& ops() { return *ops_; }
  ChartView& histogram() { return *chart_; }

 signals:
  void filter_wanted(const QString& text);

 protected:
  void rebuild() override;

 private:
  void choose(trace::OpId op);
  QLabel* head_;
  QLineEdit* find_;
  TableView* ops_;
  ChartView* chart_;
  trace::OpId chosen_ = trace::kNoId;
  Background working_, counting_;
};
}  // namespace stepcast::gui
