#include "gui/app/what_if_panel.hpp"

#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/main_window.hpp"
#include "gui/look/text.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast::gui {
namespace {
struct SweepPreset {
  const char* label;
  const char* one;
  const char* two;
};
constexpr SweepPreset kSweeps[]{
    {"Scaling over nodes", "/cluster/nodes=1..64*2", ""},
    {"One straggler",
     "/stragglers=[],[{\"ranks\":\"1\",\"compute_slowdown\":1.1}],[{\"ranks\":\"1\",\"compute_"
     "slowdown\":1.2}],[{\"ranks\":\"1\",\"compute_slowdown\":1.5}]",
     ""},
    {"Gradient compression", "/compression/scheme=none,fp16,int8,onebit,topk,powersgd", ""},
    {"Bucket size over nodes", "/strategy/bucket_MiB=5..160*2", "/cluster/nodes=2,8"},
    {"NIC rate", "/cluster/nic_Gbps=25..800*2", ""},
    {"Collective algorithm over nodes", "/cluster/nodes=2..32*2",
     "/strategy/collective_algorithm=ring,tree,auto"}};
}  // namespace

WhatIfPanel::WhatIfPanel(MainWindow* window) : QWidget(window), window_(window) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  column->setSpacing(4);
  build_head(*column);
  auto* split = new QSplitter(Qt::Horizontal, this);
  form_ = new WhatIfForm(scenario_, split);
  tabs_ = new QTabWidget(split);
  tabs_->setDocumentMode(true);
  results_ = new TableView(tabs_);
  bars_ = new ChartView(tabs_);
  log_ = new QPlainTextEdit(tabs_);
  log_->setReadOnly(true);
  log_->setPlaceholderText("Command and messages of the chosen run");
  tabs_->addTab(results_, "Results");
  tabs_->addTab(bars_, "What fills the step");
  tabs_->addTab(build_sweep_page(), "Sweep");
  tabs_->addTab(log_, "Log");
  split->setStretchFactor(0, 2);
  split->setStretchFactor(1, 3);
  split->setSizes({520, 760});
  split->setChildrenCollapsible(false);
  column->addWidget(split, 1);
  connect(&scenario_, &ScenarioDocument::changed, this, &WhatIfPanel::update_state);
  connect(&scenario_, &ScenarioDocument::loaded, this, &WhatIfPanel::update_state);
  connect(&queue_, &SimulationQueue::changed, this, [this] {
    rebuild_results();
    update_state();
  });
  connect(&queue_, &SimulationQueue::finished, this, [this](int id) {
    const SimulationRun* run = queue_.find(id);
    if (run == nullptr) return;
    if (run->settings.isEmpty() && run->scenario == scenario_.scenario() && !run->learned.empty()) {
      scenario_.learn_defaults(run->learned);
      form_->rebuild();
    }
    if (run->is_sweep) show_sweep(id);
    if (run->state == RunState::failed) {
      log_->setPlainText(queue_.command_of(*run) + "\n\n" + run->message);
      tabs_->setCurrentWidget(log_);
    }
  });
  connect(results_, &TableView::row_chosen, this, [this](qulonglong id) {
    if (const SimulationRun* run = queue_.find(static_cast<int>(id)))
      log_->setPlainText(queue_.command_of(*run) + "\nfolder " + run->folder +
                         (run->version.isEmpty() ? "" : "\nstepcast " + run->version) + "\n\n" +
                         run->message);
    update_state();
  });
  connect(results_, &TableView::row_activated, this, [this](qulonglong id) {
    const SimulationRun* run = queue_.find(static_cast<int>(id));
    if (run != nullptr && run->is_sweep)
      show_sweep(run->id);
    else
      open_result(static_cast<int>(id), 1);
  });
  rebuild_results();
  update_state();
}

void WhatIfPanel::build_head(QVBoxLayout& column) {
  auto* line = new QHBoxLayout;
  scenario_box_ = new QComboBox(this);
  scenario_box_->setEditable(true);
  scenario_box_->setInsertPolicy(QComboBox::NoInsert);
  scenario_box_->setMinimumWidth(240);
  scenario_box_->addItem("");
  for (const std::string& job : preset_names("jobs"))
    scenario_box_->addItem(QString::fromStdString(job));
  scenario_box_->lineEdit()->setPlaceholderText("a job, or a scenario file");
  auto* browse = new QPushButton("File...", this);
  run_ = new QPushButton("Run", this);
  run_->setToolTip(
      "Simulate the unchanged scenario once as the base, then the changed one (Ctrl+Return)");
  stop_ = new QPushButton("Stop", this);
  open_b_ = new QPushButton("Open as B", this);
  open_b_->setToolTip("Compare the timeline of the chosen result with A");
  open_a_ = new QPushButton("Open as A", this);
  auto* clear = new QPushButton("Clear changes", this);
  progress_ = new QProgressBar(this);
  progress_->setMaximumWidth(160);
  state_ = new QLabel(this);
  for (QWidget* w :
       std::initializer_list<QWidget*>{new QLabel("scenario", this), scenario_box_, browse, run_,
                                       stop_, clear, open_b_, open_a_, progress_})
    line->addWidget(w);
  line->addWidget(state_, 1);
  column.addLayout(line);
  description_ = new QLabel(this);
  description_->setWordWrap(true);
  column.addWidget(description_);
  connect(scenario_box_, &QComboBox::textActivated, this, [this](const QString& text) {
    if (!text.isEmpty()) load(text);
  });
  connect(scenario_box_->lineEdit(), &QLineEdit::returnPressed, this,
          [this] { load(scenario_box_->currentText()); });
  connect(browse, &QPushButton::clicked, this, [this] {
    const QStringList paths = window_->chooser().open_files("Open scenario");
    if (!paths.isEmpty()) load(paths.front());
  });
  connect(run_, &QPushButton::clicked, this, &WhatIfPanel::run);
  connect(stop_, &QPushButton::clicked, this, &WhatIfPanel::stop);
  connect(clear, &QPushButton::clicked, &scenario_, &ScenarioDocument::clear_changes);
  connect(open_b_, &QPushButton::clicked, this,
          [this] { open_result(results_->currentIndex().data(TableModel::kIdRole).toInt(), 1); });
  connect(open_a_, &QPushButton::clicked, this,
          [this] { open_result(results_->currentIndex().data(TableModel::kIdRole).toInt(), 0); });
}

QWidget* WhatIfPanel::build_sweep_page() {
  auto* page = new QWidget(tabs_);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 4, 0, 0);
  auto* line = new QHBoxLayout;
  sweep_preset_ = new QComboBox(page);
  sweep_preset_->addItem("presets");
  for (const SweepPreset& preset : kSweeps) sweep_preset_->addItem(preset.label);
  axis_one_ = new QLineEdit(page);
  axis_one_->setPlaceholderText("/cluster/nodes=1..64*2");
  axis_two_ = new QLineEdit(page);
  axis_two_->setPlaceholderText("second axis, or nothing");
  sweep_run_ = new QPushButton("Sweep", page);
  line->addWidget(sweep_preset_);
  line->addWidget(axis_one_, 3);
  line->addWidget(axis_two_, 2);
  line->addWidget(sweep_run_);
  column->addLayout(line);
  auto* second = new QHBoxLayout;
  figure_box_ = new QComboBox(page);
  figure_box_->setMinimumWidth(200);
  chart_kind_ = new QComboBox(page);
  chart_kind_->addItems({"lines", "heat map"});
  second->addWidget(new QLabel("draw", page));
  second->addWidget(figure_box_);
  second->addWidget(new QLabel("as", page));
  second->addWidget(chart_kind_);
  second->addStretch(1);
  column->addLayout(second);
  chart_ = new ChartView(page);
  ChartData empty;
  empty.empty_text =
      "Choose what to vary and press Sweep:\nvalues are a,b,c or low..high or low..high*factor";
  chart_->set_chart(empty);
  column->addWidget(chart_, 1);
  connect(sweep_preset_, &QComboBox::activated, this, [this](int index) {
    if (index < 1) return;
    axis_one_->setText(kSweeps[index - 1].one);
    axis_two_->setText(kSweeps[index - 1].two);
  });
  connect(sweep_run_, &QPushButton::clicked, this, [this] {
    QStringList axes;
    for (const QLineEdit* axis : {axis_one_, axis_two_})
      if (!axis->text().trimmed().isEmpty()) axes << axis->text().trimmed();
    run_sweep(axes);
  });
  for (QComboBox* box : {figure_box_, chart_kind_})
    connect(box, &QComboBox::activated, this, [this] {
      if (const SimulationRun* run = queue_.find(shown_sweep_))
        chart_->set_chart(sweep_chart(run->folder + "/sweep.csv", figure_box_->currentText(),
                                      chart_kind_->currentIndex() == 1));
    });
  return page;
}

QString WhatIfPanel::load(const QString& scenario) {
  const QString problem = scenario_.load(scenario);
  if (problem.isEmpty())
    scenario_box_->setCurrentText(scenario);
  else
    state_->setText("<span style='color:" + theme().error.name() + "'>" + problem.toHtmlEscaped() +
                    "</span>");
  return problem;
}

int WhatIfPanel::base_id() const {
  for (const SimulationRun& run : queue_.runs())
    if (!run.is_sweep && run.scenario == scenario_.scenario() && run.settings.isEmpty() &&
        run.state != RunState::failed && run.state != RunState::stopped)
      return run.id;
  return 0;
}
QString WhatIfPanel::change_label() const {
  QStringList parts;
  for (const auto& [pointer, text] : scenario_.changes())
    parts << pointer.section('/', -1) + " " + text.left(40);
  return parts.isEmpty() ? "unchanged" : parts.join(", ");
}

void WhatIfPanel::run() {
  if (scenario_.scenario().isEmpty()) {
    state_->setText("Choose a scenario first");
    return;
  }
  SimulationRun run;
  run.scenario = scenario_.scenario();
  const bool has_base = base_id() != 0;
  if (!has_base) {
    run.label = "unchanged";
    queue_.add(run);
  }
  if (scenario_.changes().empty()) return;
  run.settings = scenario_.settings();
  run.label = change_label();
  queue_.add(run);
}
int WhatIfPanel::run_sweep(const QStringList& axes) {
  if (scenario_.scenario().isEmpty() || axes.isEmpty()) {
    state_->setText(axes.isEmpty() ? "Say what to vary, for instance /cluster/nodes=1,2,4"
                                   : "Choose a scenario first");
    return 0;
  }
  SimulationRun run;
  run.is_sweep = true;
  run.scenario = scenario_.scenario();
  run.settings = scenario_.settings();
  run.vary = axes;
  run.label = axes.join("  ");
  return queue_.add(run);
}
void WhatIfPanel::stop() { queue_.stop_all(); }

void WhatIfPanel::open_result(int id, int side) {
  const SimulationRun* run = queue_.find(id);
  if (run == nullptr || run->is_sweep || run->state != RunState::done) return;
  window_->open({run->folder + "/trace.json.gz"}, side);
}

void WhatIfPanel::show_sweep(int id) {
  const SimulationRun* run = queue_.find(id);
  if (run == nullptr || !run->is_sweep) return;
  shown_sweep_ = id;
  const QString csv = run->folder + "/sweep.csv", former = figure_box_->currentText();
  figure_box_->clear();
  figure_box_->addItems(sweep_figures(csv));
  if (const int at = figure_box_->findText(former); at >= 0) figure_box_->setCurrentIndex(at);
  chart_->set_chart(sweep_chart(csv, figure_box_->currentText(), chart_kind_->currentIndex() == 1));
}

void WhatIfPanel::rebuild_results() {
  const auto chosen = results_->currentIndex().data(TableModel::kIdRole).toULongLong();
  results_->show_table(results_table(queue_.runs(), base_id()));
  if (const int row = results_->table_model().row_of(chosen); row >= 0) results_->selectRow(row);
  bars_->set_chart(breakdown_chart(queue_.runs()));
  if (const SimulationRun* run = queue_.find(shown_sweep_);
      run != nullptr && run->state == RunState::running)
    show_sweep(shown_sweep_);
}

void WhatIfPanel::update_state() {
  const SimulationRun* running = nullptr;
  int queued = 0;
  for (const SimulationRun& run : queue_.runs()) {
    if (run.state == RunState::running) running = &run;
    queued += run.state == RunState::queued;
  }
  stop_->setEnabled(running != nullptr || queued > 0);
  run_->setEnabled(!scenario_.scenario().isEmpty());
  const SimulationRun* chosen =
      queue_.find(results_->currentIndex().data(TableModel::kIdRole).toInt());
  const bool can_open = chosen != nullptr && !chosen->is_sweep && chosen->state == RunState::done &&
                        QFileInfo::exists(chosen->folder + "/trace.json.gz");
  open_a_->setEnabled(can_open);
  open_b_->setEnabled(can_open);
  description_->setText(scenario_.description());
  description_->setVisible(!scenario_.description().isEmpty());
  progress_->setVisible(running != nullptr);
  if (running != nullptr) {
    progress_->setRange(0, running->progress < 0 ? 0 : 1000);
    progress_->setValue(static_cast<int>(running->progress * 1000));
    QString text = QString("run %1: %2").arg(running->id).arg(time_text(running->seconds * 1e9));
    if (running->progress > 0.02 && running->progress < 1)
      text +=
          ", about " + time_text(running->seconds * (1 / running->progress - 1) * 1e9) + " left";
    if (queued > 0) text += QString(", %1 waiting").arg(queued);
    state_->setText(text);
  } else {
    const auto n = scenario_.changes().size();
    state_->setText(n == 0 ? QString() : QString("%1 change%2").arg(n).arg(n == 1 ? "" : "s"));
  }
}

void WhatIfPanel::refresh_colours() {
  form_->rebuild();
  rebuild_results();
  if (shown_sweep_ != 0) show_sweep(shown_sweep_);
}

QStringList WhatIfPanel::session_texts() const {
  QStringList texts;
  const auto strings = [](const QStringList& list) {
    Json out = Json::array();
    for (const QString& s : list) out.push_back(s.toStdString());
    return out;
  };
  if (!scenario_.scenario().isEmpty())
    texts << QString::fromStdString(Json{
        {"edit", scenario_.scenario().toStdString()},
        {"settings",
         strings(scenario_.settings())}}.dump());
  for (const SimulationRun& run : queue_.runs())
    if (run.state == RunState::done)
      texts << QString::fromStdString(Json{
          {"run", run.scenario.toStdString()},
          {"label", run.label.toStdString()},
          {"folder", run.folder.toStdString()},
          {"settings", strings(run.settings)},
          {"vary", strings(run.vary)},
          {"seconds", run.seconds}}.dump());
  return texts;
}

void WhatIfPanel::restore_texts(const QStringList& texts) {
  const auto strings = [](const Json& list) {
    QStringList out;
    if (list.is_array())
      for (const Json& s : list)
        if (s.is_string()) out << QString::fromStdString(s.get<std::string>());
    return out;
  };
  const auto text = [](const Json& j, const char* key) {
    return j.contains(key) && j[key].is_string() ? QString::fromStdString(j[key].get<std::string>())
                                                 : QString();
  };
  for (const QString& entry : texts) {
    const Json j = Json::parse(entry.toStdString(), nullptr, false);
    if (!j.is_object()) continue;
    if (j.contains("edit")) {
      if (!load(text(j, "edit")).isEmpty()) continue;
      for (const QString& setting : strings(j.value("settings", Json::array())))
        scenario_.set_change(setting.section('=', 0, 0), setting.section('=', 1));
    } else if (j.contains("run")) {
      SimulationRun run;
      run.scenario = text(j, "run");
      run.label = text(j, "label");
      run.folder = text(j, "folder");
      run.settings = strings(j.value("settings", Json::array()));
      run.vary = strings(j.value("vary", Json::array()));
      run.is_sweep = !run.vary.isEmpty();
      run.seconds =
          j.contains("seconds") && j["seconds"].is_number() ? j["seconds"].get<double>() : 0;
      queue_.add_finished(std::move(run));
    }
  }
}
}  // namespace stepcast::gui
