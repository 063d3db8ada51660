#pragma once
#include <QComboBox>

#include "gui/app/panel.hpp"
#include "gui/document/background.hpp"
#include "gui/views/chart_view.hpp"
#include "gui/views/matrix_view.hpp"

/// Panels about many ranks at once.
namespace stepcast::gui {
/// Step x rank: the fastest way to see a straggler.
class StepMatrixPanel : public Panel {
  Q_OBJECT
 public:
  StepMatrixPanel(Workspace& workspace, QWidget* parent);
  MatrixView& matrix() { return *matrix_; }

 protected:
  void rebuild() override;

 private:
  QComboBox* measure_;
  MatrixView* matrix_;
};

/// Ranks with times, waiting caused and suffered, and the straggler score.
class RankPanel : public Panel {
  Q_OBJECT
 public:
  RankPanel(Workspace& workspace, QWidget* parent);
  TableView& ranks() { return *table_; }

 protected:
  void rebuild() override;

 private:
  QLabel* head_;
  TableView* table_;
  Background working_;
};

/// Collectives: arrival skew against transfer, bytes and bus bandwidth; traffic between ranks.
class CommunicationPanel : public Panel {
  Q_OBJECT
 public:
  CommunicationPanel(Workspace& workspace, QWidget* parent);
  TableView& totals() { return *totals_; }
  TableView& runs() { return *runs_; }

 protected:
  void rebuild() override;

 private:
  QLabel* head_;
  TableView *totals_, *runs_;
  MatrixView* matrix_;
  ChartView* chart_;
  Background working_;
};

/// What the step's end hangs on, across ranks.
class CriticalPanel : public Panel {
  Q_OBJECT
 public:
  CriticalPanel(Workspace& workspace, QWidget* parent);
  TableView& segments() { return *segments_; }

 protected:
  void rebuild() override;

 private:
  QLabel* head_;
  TableView *shares_, *segments_;
};

/// What was read, what was lost and where.
class ImportPanel : public Panel {
  Q_OBJECT
 public:
  ImportPanel(Workspace& workspace, QWidget* parent);
  TableView& counts() { return *counts_; }
  TableView& anomalies() { return *anomalies_; }

 protected:
  void rebuild() override;

 private:
  QComboBox* side_;
  QLabel* head_;
  TableView *counts_, *anomalies_, *sources_, *metadata_;
};

/// Bookmarks and notes; kept in the session.
class NotesPanel : public Panel {
  Q_OBJECT
 public:
  NotesPanel(Workspace& workspace, QWidget* parent);
  TableView& table() { return *table_; }

 protected:
  void rebuild() override;

 private:
  TableView* table_;
};
/// The matrix of a trace's steps, for the panel and the report.
MatrixData step_matrix_data(const TraceFacts& facts, bool is_busy);
}  // namespace stepcast::gui
