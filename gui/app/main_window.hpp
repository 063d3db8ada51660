#pragma once
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QProgressBar>
#include <QSettings>
#include <QSplitter>
#include <QTimer>
#include <QToolButton>
#include <functional>

#include "gui/app/action_list.hpp"
#include "gui/app/compare_panel.hpp"
#include "gui/app/detail_panels.hpp"
#include "gui/app/legend_bar.hpp"
#include "gui/app/rank_panels.hpp"
#include "gui/app/reports_panel.hpp"
#include "gui/views/overview_view.hpp"
#include "gui/views/timeline_view.hpp"

namespace stepcast::gui {
class WhatIfPanel;

/// How ranks are ordered in overview and timeline.
enum class RankOrder { store, slowness, stage, group };

/// Asks the user for paths; tests put answers here.
struct PathChooser {
  std::function<QStringList(const QString& title)> open_files;
  std::function<QString(const QString& title)> open_folder;
  std::function<QString(const QString& title, const QString& suggestion, const QString& filter)>
      save_file;
  std::function<QString(const QString& title, const QString& label, const QString& text)> text;
};

/// The window: overview above, timeline in the middle, docks around, legend and progress below.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  /// `settings_file` "" = the user's own settings; tests and screenshots give a file.
  explicit MainWindow(const QString& settings_file = {}, QWidget* parent = nullptr);
  ~MainWindow() override;

  void open(const QStringList& paths, int side = 0);
  /// The session that a crash or a normal end left, if any; answers whether one was restored.
  bool restore_last_session();
  void restore(const trace::Session& session);
  trace::Session session() const;

  Workspace& workspace() { return workspace_; }
  CompareDocument& compare() { return *compare_; }
  TimelineView& timeline(int side = 0) { return side == 0 ? *timeline_a_ : *timeline_b_; }
  OverviewView& overview(int side = 0) { return side == 0 ? *overview_a_ : *overview_b_; }
  ActionList& actions_list() { return *actions_; }
  WhatIfPanel& what_if() { return *what_if_; }
  ComparePanel& compare_panel() { return *compare_panel_; }
  ReportsPanel& reports_panel() { return *reports_panel_; }
  SlicePanel& slice_panel() { return *slice_panel_; }
  AreaPanel& area_panel() { return *area_panel_; }
  RankPanel& rank_panel() { return *rank_panel_; }
  QLineEdit& search_box() { return *search_; }
  QLabel& search_state() { return *search_state_; }
  PathChooser& chooser() { return chooser_; }
  QDockWidget* dock(const QString& name) const { return findChild<QDockWidget*>(name); }
  void show_dock(const QString& name);
  void apply_layout(const QString& name);  // "explore", "compare", "whatif"
  void set_order(RankOrder order);
  void set_overview_mode(OverviewMode mode);
  void set_interleaved(bool is_interleaved);
  /// Two report.json files, without traces; what is wrong with them is told.
  void compare_reports(const QStringList& paths);
  void set_theme_now(ThemeKind kind, PaletteKind palette);
  QStringList recent() const;
  /// Writes the picture; .svg by name. Answers the problem or "".
  QString export_picture(const QString& path);
  QString export_trimmed_trace(const QString& path);
  QString export_slices(const QString& path);
  QString export_report(const QString& path);
  QString session_file() const;
  void autosave_now();

 signals:
  void ready(int side);  // a trace is read and all its facts are derived

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  // main_window.cpp
  void build_centre();
  void build_docks();
  void build_bars();
  void build_menus();
  QDockWidget* add_dock(const QString& name, const QString& title, QWidget* content,
                        Qt::DockWidgetArea area);
  // main_window_actions.cpp
  void connect_actions();
  void connect_navigation();
  void search(const QString& text);
  void step_hit(bool is_forward);
  void step_step(int direction);
  void copy(bool as_json);
  void add_bookmark();
  void add_note();
  void go_to_time();
  void show_menu(const QPoint& global, const SliceRef& slice, int row, TimelineView& view);
  void store_view(int slot);
  void recall_view(int slot);
  void jump(SliceRef slice);
  // main_window_trace.cpp
  void connect_documents();
  void rebuild_scene(bool keeps_view);
  void rebuild_overview(int side);
  void update_view_boxes();
  void update_hit_ticks();
  void update_legend();
  void update_marks();
  void update_title();
  void note_recent(const QStringList& paths);
  void rebuild_recent_menu();
  SceneSide scene_side(int side, const TimelineView* former, int former_side) const;
  std::vector<trace::RankId> ranks_in_order(int side) const;
  void tell(const QString& problem);  // an error, copyable
  // main_window_session.cpp
  void apply_session();

  std::unique_ptr<QSettings> settings_;
  Workspace workspace_;
  CompareDocument* compare_ = nullptr;
  ActionList* actions_ = nullptr;
  PathChooser chooser_;
  QSplitter* centre_ = nullptr;
  OverviewView *overview_a_ = nullptr, *overview_b_ = nullptr;
  TimelineView *timeline_a_ = nullptr, *timeline_b_ = nullptr;
  LegendBar* legend_ = nullptr;
  QLabel *hover_ = nullptr, *frame_ = nullptr, *search_state_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QToolButton* cancel_ = nullptr;
  QLineEdit* search_ = nullptr;
  QComboBox *mode_box_ = nullptr, *order_box_ = nullptr, *colour_box_ = nullptr;
  QMenu* recent_menu_ = nullptr;
  SlicePanel* slice_panel_ = nullptr;
  AreaPanel* area_panel_ = nullptr;
  OpPanel* op_panel_ = nullptr;
  RankPanel* rank_panel_ = nullptr;
  ComparePanel* compare_panel_ = nullptr;
  WhatIfPanel* what_if_ = nullptr;
  ReportsPanel* reports_panel_ = nullptr;
  RankOrder order_ = RankOrder::store;
  bool is_interleaved_ = false, is_linking_ = false, shows_part_ = false;
  Background overview_work_[2];
  std::vector<trace::SessionView> stored_views_ = std::vector<trace::SessionView>(10);
  std::optional<trace::Session> pending_session_;
  std::vector<trace::RankId> order_of_[2];
  QTimer autosave_;
};
}  // namespace stepcast::gui
