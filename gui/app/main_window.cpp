#include "gui/app/main_window.hpp"

#include <QFileDialog>
#include <QInputDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <QScrollBar>
#include <QStatusBar>
#include <QToolBar>

#include "gui/app/what_if_panel.hpp"

namespace stepcast::gui {
namespace {
constexpr int kAutosaveMs = 5000;  // what a crash can cost at most

PathChooser dialogs(QWidget* parent) {
  PathChooser c;
  c.open_files = [parent](const QString& title) {
    return QFileDialog::getOpenFileNames(
        parent, title, {},
        "Traces (*.json *.json.gz *.json.zst *.pt.trace.json *.gz);;All files (*)");
  };
  c.open_folder = [parent](const QString& title) {
    return QFileDialog::getExistingDirectory(parent, title);
  };
  c.save_file = [parent](const QString& title, const QString& suggestion, const QString& filter) {
    return QFileDialog::getSaveFileName(parent, title, suggestion, filter);
  };
  c.text = [parent](const QString& title, const QString& label, const QString& text) {
    return QInputDialog::getText(parent, title, label, QLineEdit::Normal, text);
  };
  return c;
}
}  // namespace

MainWindow::MainWindow(const QString& settings_file, QWidget* parent) : QMainWindow(parent) {
  settings_ = settings_file.isEmpty()
                  ? std::make_unique<QSettings>("stepcast", "viewer")
                  : std::make_unique<QSettings>(settings_file, QSettings::IniFormat);
  set_theme(settings_->value("light", false).toBool() ? ThemeKind::light : ThemeKind::dark,
            settings_->value("colour_blind", false).toBool() ? PaletteKind::colour_blind
                                                             : PaletteKind::standard);
  chooser_ = dialogs(this);
  compare_ = new CompareDocument(workspace_);
  actions_ = new ActionList(this, *settings_);
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  setWindowTitle("Stepcast viewer");
  resize(1500, 940);
  build_centre();
  build_docks();
  build_bars();
  build_menus();
  connect_actions();
  connect_navigation();
  connect_documents();
  apply_layout("explore");
  if (const QByteArray state = settings_->value("window").toByteArray(); !state.isEmpty())
    restoreState(state);
  autosave_.setInterval(kAutosaveMs);
  connect(&autosave_, &QTimer::timeout, this, &MainWindow::autosave_now);
  autosave_.start();
}
MainWindow::~MainWindow() = default;

void MainWindow::build_centre() {
  centre_ = new QSplitter(Qt::Vertical, this);
  overview_a_ = new OverviewView(centre_);
  overview_b_ = new OverviewView(centre_);
  timeline_a_ = new TimelineView(centre_);
  timeline_b_ = new TimelineView(centre_);
  timeline_a_->setObjectName("timeline_a");
  timeline_b_->setObjectName("timeline_b");
  overview_b_->hide();
  timeline_b_->hide();
  centre_->setStretchFactor(0, 0);
  centre_->setStretchFactor(1, 0);
  centre_->setStretchFactor(2, 3);
  centre_->setStretchFactor(3, 3);
  centre_->setSizes({150, 150, 420, 420});
  centre_->setChildrenCollapsible(false);
  setCentralWidget(centre_);
}

QDockWidget* MainWindow::add_dock(const QString& name, const QString& title, QWidget* content,
                                  Qt::DockWidgetArea area) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(name);
  dock->setWidget(content);
  addDockWidget(area, dock);
  return dock;
}

void MainWindow::build_docks() {
  slice_panel_ = new SlicePanel(workspace_, this);
  area_panel_ = new AreaPanel(workspace_, this);
  op_panel_ = new OpPanel(workspace_, this);
  rank_panel_ = new RankPanel(workspace_, this);
  compare_panel_ = new ComparePanel(workspace_, *compare_, this);
  what_if_ = new WhatIfPanel(this);
  const Qt::DockWidgetArea bottom = Qt::BottomDockWidgetArea;
  QDockWidget* first = add_dock("area", "Area", area_panel_, bottom);
  QDockWidget* last = first;
  const auto add = [&](const QString& name, const QString& title, QWidget* content) {
    QDockWidget* dock = add_dock(name, title, content, bottom);
    tabifyDockWidget(last, dock);
    last = dock;
  };
  add("slice", "Slice", slice_panel_);
  add("ops", "Ops", op_panel_);
  add("matrix", "Step x rank", new StepMatrixPanel(workspace_, this));
  add("ranks", "Ranks", rank_panel_);
  add("communication", "Communication", new CommunicationPanel(workspace_, this));
  add("critical", "Critical path", new CriticalPanel(workspace_, this));
  add("compare", "Compare", compare_panel_);
  reports_panel_ = new ReportsPanel(workspace_, this);
  add("reports", "Reports", reports_panel_);
  add("whatif", "What if", what_if_);
  add("notes", "Bookmarks", new NotesPanel(workspace_, this));
  add("import", "Import", new ImportPanel(workspace_, this));
  resizeDocks({first}, {300}, Qt::Vertical);
}

void MainWindow::apply_layout(const QString& name) {
  for (QDockWidget* d : findChildren<QDockWidget*>()) {
    d->setFloating(false);
    d->show();
  }
  const QString front = name == "compare" ? "compare" : name == "whatif" ? "whatif" : "area";
  resizeDocks({dock(front)}, {name == "whatif" ? height() / 2 : height() / 3}, Qt::Vertical);
  dock(front)->raise();
}
void MainWindow::show_dock(const QString& name) {
  dock(name)->show();
  dock(name)->raise();
}

void MainWindow::build_bars() {
  QToolBar* bar = addToolBar("Tools");
  bar->setObjectName("tools");
  bar->setMovable(false);
  bar->setToolButtonStyle(Qt::ToolButtonTextOnly);
  const auto add = [&](const char* id, const QString& text) {
    bar->addAction((*actions_)[id]);
    if (auto* button = qobject_cast<QToolButton*>(bar->widgetForAction((*actions_)[id])))
      button->setText(text);
    (*actions_)[id]->setIconText(text);
  };
  add("open", "Open");
  add("compare", "Compare");
  bar->addSeparator();
  add("undo_view", "Undo");
  add("redo_view", "Redo");
  add("fit", "Fit");
  add("fit_all", "All");
  bar->addSeparator();
  mode_box_ = new QComboBox(bar);
  for (int i = 0; i <= static_cast<int>(OverviewMode::memory); ++i)
    mode_box_->addItem(overview_mode_label(static_cast<OverviewMode>(i)));
  mode_box_->setToolTip("What the overview shows");
  bar->addWidget(mode_box_);
  order_box_ = new QComboBox(bar);
  order_box_->addItems(
      {"By node and rank", "Slowest first", "By pipeline stage", "Alike together"});
  order_box_->setToolTip(
      "Order of the ranks. Stages need a report.json of stepcast beside the trace.");
  bar->addWidget(order_box_);
  colour_box_ = new QComboBox(bar);
  colour_box_->addItems({"Colour: category", "Colour: name", "Colour: slowness"});
  colour_box_->setToolTip(
      "Slowness: duration against the median of the op, twice the median is the end of the scale");
  bar->addWidget(colour_box_);
  bar->addSeparator();
  add("overview_follows", "Overview follows");
  add("critical", "Critical path");
  add("flows", "Arrows");
  bar->addSeparator();
  search_ = new QLineEdit(bar);
  search_->setObjectName("search");
  search_->setPlaceholderText(
      "Filter ( / ):  name ~ \"allreduce\" and dur > 1ms and rank in 0..63");
  search_->setClearButtonEnabled(true);
  search_->setMinimumWidth(260);
  bar->addWidget(search_);
  search_state_ = new QLabel(bar);
  search_state_->setMinimumWidth(90);
  search_state_->setContentsMargins(6, 0, 6, 0);
  bar->addWidget(search_state_);
  add("keys", "Keys");

  legend_ = new LegendBar(this);
  // Permanent widgets stay on screen while a message is shown: nobody should have to guess what red
  // means.
  statusBar()->addPermanentWidget(legend_);
  hover_ = new QLabel(this);
  frame_ = new QLabel(this);
  frame_->setMinimumWidth(frame_->fontMetrics().horizontalAdvance("0000.0 ms") +
                          4);  // as its text grows, nothing moves or is cut
  progress_ = new QProgressBar(this);
  progress_->setMaximumWidth(340);
  progress_->setMinimumWidth(240);
  progress_->setTextVisible(true);
  progress_->hide();
  cancel_ = new QToolButton(this);
  cancel_->setText("Cancel");
  cancel_->hide();
  statusBar()->addPermanentWidget(progress_);
  statusBar()->addPermanentWidget(cancel_);
  statusBar()->addPermanentWidget(hover_);
  statusBar()->addPermanentWidget(frame_);
  statusBar()->setSizeGripEnabled(false);
}

void MainWindow::build_menus() {
  QHash<QString, QMenu*> menus;
  for (const ActionSpec& spec : action_specs()) {
    QMenu*& menu = menus[spec.group];
    if (menu == nullptr) menu = menuBar()->addMenu(spec.group);
    if (QString(spec.id) == "reload") {
      recent_menu_ = menu->addMenu("Open recent");
      recent_menu_->setToolTipsVisible(true);
    }
    menu->addAction((*actions_)[spec.id]);
    if (QString(spec.id) == "swap" || QString(spec.id) == "cancel" ||
        QString(spec.id) == "load_session" || QString(spec.id) == "export_report")
      menu->addSeparator();
  }
  QMenu* docks = menus["Show"]->addMenu("Panels");
  for (QDockWidget* d : findChildren<QDockWidget*>()) docks->addAction(d->toggleViewAction());
  rebuild_recent_menu();
}
}  // namespace stepcast::gui
