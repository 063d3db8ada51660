#pragma once
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTabWidget>
#include <QVBoxLayout>
#include <QWidget>

#include "gui/app/what_if_form.hpp"
#include "gui/document/simulation_queue.hpp"
#include "gui/views/chart_view.hpp"
#include "gui/views/table_view.hpp"

namespace stepcast::gui {
class MainWindow;

/// What if: change a scenario, simulate it in the background, compare the figures, open the
/// timeline as B.
class WhatIfPanel : public QWidget {
  Q_OBJECT
 public:
  explicit WhatIfPanel(MainWindow* window);
  ScenarioDocument& scenario() { return scenario_; }
  SimulationQueue& queue() { return queue_; }
  WhatIfForm& form() { return *form_; }
  TableView& results() { return *results_; }
  ChartView& chart() { return *chart_; }
  QTabWidget& tabs() { return *tabs_; }
  QString load(const QString& scenario);
  /// Queues the base (once) and the changed scenario.
  void run();
  /// Queues a sweep; `axes` are --vary texts.
  int run_sweep(const QStringList& axes);
  void stop();
  void open_result(int id, int side);
  void show_sweep(int id);
  void refresh_colours();
  /// Scenario, changes and results, one JSON text each, for the session.
  QStringList session_texts() const;
  void restore_texts(const QStringList& texts);

 private:
  void build_head(QVBoxLayout& column);
  QWidget* build_sweep_page();
  void rebuild_results();
  void update_state();
  QString change_label() const;
  int base_id() const;
  MainWindow* window_;
  ScenarioDocument scenario_;
  SimulationQueue queue_;
  WhatIfForm* form_;
  QComboBox *scenario_box_, *sweep_preset_, *figure_box_, *chart_kind_;
  QLineEdit *axis_one_, *axis_two_;
  QPushButton *run_, *stop_, *open_b_, *open_a_, *sweep_run_;
  QLabel *state_, *description_;
  QProgressBar* progress_;
  QTabWidget* tabs_;
  TableView* results_;
  ChartView *chart_, *bars_;
  QPlainTextEdit* log_;
  int shown_sweep_ = 0;
};

/// One line or heat chart of a finished sweep; `figure` is a column of its table.
ChartData sweep_chart(const QString& csv_path, const QString& figure, bool is_heat);
/// Columns of a sweep's table that can be drawn.
QStringList sweep_figures(const QString& csv_path);
/// What fills the step of every finished run, as stacked bars.
ChartData breakdown_chart(const std::vector<SimulationRun>& runs);
/// Figures of the runs against the base.
Table results_table(const std::vector<SimulationRun>& runs, int base_id);
}  // namespace stepcast::gui
