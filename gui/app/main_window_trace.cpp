#include <QDir>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QScrollBar>
#include <QStatusBar>
#include <algorithm>
#include <numeric>

#include "gui/app/main_window.hpp"
#include "gui/document/rank_stages.hpp"
#include "gui/look/text.hpp"
#include "gui/models/trace_tables.hpp"
#include "sim/timeline/cache/cache.hpp"

/// Opening traces and building what timeline and overview show of them.
namespace stepcast::gui {
namespace {
constexpr qsizetype kRecentKept = 12;
}

void MainWindow::open(const QStringList& paths, int side) {
  if (paths.isEmpty()) return;
  if (side == 1 && !workspace_.a.is_open() && !workspace_.a.is_loading()) side = 0;
  if (side == 0) {
    workspace_.select({});
    shows_part_ = false;
  }
  workspace_.document(side).open(paths, QString::fromStdString(trace::default_cache_folder()));
  note_recent(paths);
  if (side == 1) apply_layout("compare");
  update_title();
}

void MainWindow::connect_documents() {
  for (const int side : {0, 1}) {
    TraceDocument& document = workspace_.document(side);
    connect(&document, &TraceDocument::progressed, this,
            [this](double share, const QString& doing) {
              progress_->setRange(0, share < 0 ? 0 : 1000);
              progress_->setValue(static_cast<int>(share * 1000));
              progress_->setFormat(doing);
              progress_->show();
              cancel_->show();
            });
    connect(&document, &TraceDocument::trace_changed, this, [this, side](bool is_final) {
      // More of the same trace keeps what the user looks at; another trace starts anew.
      const bool keeps = side == 1 || shows_part_;
      if (side == 0) shows_part_ = !is_final;
      rebuild_scene(keeps);
      rebuild_overview(0);
      if (side == 1) rebuild_overview(1);
      update_legend();
      update_title();
      if (!is_final) return;
      if (!workspace_.a.is_loading() && !workspace_.b.is_loading()) {
        progress_->hide();
        cancel_->hide();
      }
      const trace::ImportReport& r = workspace_.document(side).report();
      if (r.lost > 0 || workspace_.document(side).trace().slices() == 0) show_dock("import");
      statusBar()->showMessage(
          QString("%1: %L2 slices, %L3 ranks%4")
              .arg(workspace_.document(side).title())
              .arg(workspace_.document(side).trace().slices())
              .arg(workspace_.document(side).trace().ranks().size())
              .arg(r.lost > 0 ? QString(", %L1 events lost (see Import)").arg(r.lost) : QString()),
          6000);
      if (side == 0) apply_session();
    });
    connect(&document, &TraceDocument::facts_changed, this, [this, side] {
      rebuild_scene(true);
      rebuild_overview(side);
    });
    connect(&document, &TraceDocument::finished, this, [this, side] { emit ready(side); });
    connect(&document, &TraceDocument::failed, this, [this](const QString& problem) {
      progress_->hide();
      cancel_->hide();
      tell(problem);
    });
  }
  connect(cancel_, &QToolButton::clicked, this, [this] { (*actions_)["cancel"]->trigger(); });
  connect(compare_, &CompareDocument::changed, this, [this] { rebuild_scene(true); });
  connect(compare_, &CompareDocument::map_changed, this, [this] { rebuild_scene(true); });
  connect(compare_, &CompareDocument::failed, this, &MainWindow::tell);
}

std::vector<trace::RankId> MainWindow::ranks_in_order(int side) const {
  const TraceDocument& document = side == 0 ? workspace_.a : workspace_.b;
  std::vector<trace::RankId> order;
  if (!document.is_open()) return order;
  const trace::TraceStore& store = document.trace();
  if (order_ == RankOrder::slowness && document.facts().ranks)
    return trace::ranks_by_slowness(*document.facts().ranks);
  order.resize(store.ranks().size());
  std::iota(order.begin(), order.end(), 0U);
  if (order_ == RankOrder::group) {
    const auto groups = alike_groups(store);
    std::stable_sort(order.begin(), order.end(),
                     [&](trace::RankId l, trace::RankId r) { return groups[l] < groups[r]; });
  }
  if (order_ == RankOrder::stage) {
    const auto stages = rank_stages(document.paths(), store);
    if (!stages.empty())
      std::stable_sort(order.begin(), order.end(),
                       [&](trace::RankId l, trace::RankId r) { return stages[l] < stages[r]; });
  }
  return order;
}

SceneSide MainWindow::scene_side(int side, const TimelineView* former, int former_side) const {
  SceneSide s;
  const TraceDocument& document = side == 0 ? workspace_.a : workspace_.b;
  s.facts = document.facts();
  const bool is_same =
      former != nullptr && former_side < static_cast<int>(former->scene().sides.size()) &&
      former->scene().sides[static_cast<std::size_t>(former_side)].facts.trace == s.facts.trace;
  if (is_same) {
    s.choice = former->scene().sides[static_cast<std::size_t>(former_side)].choice;
    s.counters = former->scene().sides[static_cast<std::size_t>(former_side)].counters;
  } else {
    s.choice.open_ranks = initially_open(*s.facts.trace);
    for (const trace::CounterSeries& series : s.facts.trace->counters())
      s.counters.push_back(std::make_shared<trace::CounterMip>(series));
  }
  s.choice.order = order_ == RankOrder::store ? std::vector<trace::RankId>{} : ranks_in_order(side);
  s.choice.folds_alike = (*actions_)["fold_alike"]->isChecked();
  s.filter = workspace_.filter(side);
  if (side == 1) s.map = compare_->time_map();
  s.partner = side == 0 ? compare_->facts().partner_of_a : compare_->facts().partner_of_b;
  if (s.facts.ops) {
    s.typical_ns.assign(s.facts.trace->ops().size(), 0);
    for (const trace::OpStatistics& op : *s.facts.ops)
      s.typical_ns[op.op] = static_cast<double>(op.p50);
  }
  if (s.facts.critical) {
    auto on_path = std::make_shared<std::unordered_set<trace::SliceId>>();
    for (const trace::CriticalSegment& segment : s.facts.critical->segments)
      if (segment.slice != trace::kNoId) on_path->insert(segment.slice);
    s.critical = on_path;
  }
  return s;
}

void MainWindow::rebuild_scene(bool keeps_view) {
  const auto base = [this] {
    TimelineScene scene;
    scene.colours = static_cast<ColourMode>(colour_box_->currentIndex());
    scene.shows_critical = (*actions_)["critical"]->isChecked();
    scene.shows_flows = (*actions_)["flows"]->isChecked();
    return scene;
  };
  TimelineScene a = base();
  const bool has_both = workspace_.a.is_open() && workspace_.b.is_open();
  const bool interleaves = has_both && is_interleaved_ && compare_->is_ready();
  if (workspace_.a.is_open()) a.sides.push_back(scene_side(0, timeline_a_, 0));
  if (interleaves) {
    const bool was_inside = timeline_a_->scene().sides.size() > 1;
    a.sides.push_back(scene_side(1, was_inside ? timeline_a_ : timeline_b_, was_inside ? 1 : 0));
    a.pairs = compare_->facts().match->ranks;
    a.deltas = compare_->facts().deltas;
    a.delta_steps = compare_->facts().match->steps;
    // Partners open together.
    for (const auto& [in_a, in_b] : a.pairs)
      if (a.sides[0].choice.open_ranks.contains(in_a)) a.sides[1].choice.open_ranks.insert(in_b);
  }
  TimelineScene b = base();
  const bool stacks = has_both && !interleaves;
  if (stacks) {
    b.is_side_b = true;
    b.sides.push_back(scene_side(1, timeline_b_, 0));
  }
  const auto bounds_of_a = TimelineView::extent_of(a), bounds_of_b = TimelineView::extent_of(b);
  timeline_a_->set_bounds(bounds_of_b);
  timeline_b_->set_bounds(bounds_of_a);
  // What the scenes announce while they change is no wish of the user.
  is_linking_ = true;
  timeline_a_->set_scene(std::move(a), keeps_view);
  timeline_b_->setVisible(stacks);
  overview_b_->setVisible(has_both);
  if (stacks || !timeline_b_->scene().is_empty()) timeline_b_->set_scene(std::move(b), true);
  if (stacks) {
    timeline_b_->set_gutter(timeline_a_->gutter());
    timeline_b_->set_view(timeline_a_->view(), false);
  }
  is_linking_ = false;
  update_view_boxes();
  update_marks();
}

void MainWindow::rebuild_overview(int side) {
  const TraceDocument& document = workspace_.document(side);
  OverviewView& view = overview(side);
  view.set_title(
      document.is_open() && workspace_.is_comparing()
          ? QString(side == 0 ? "A  " : "B  ") + document.title()
          : QString(),
      workspace_.is_comparing() ? (side == 0 ? theme().a_edge : theme().b_edge) : QColor());
  if (!document.is_open()) {
    view.set_rows(nullptr, nullptr, {});
    return;
  }
  std::vector<trace::RankId> order = ranks_in_order(side);
  order_of_[side] = order;
  constexpr std::size_t kMostMarked = 64;  // more marks would run into each other
  auto slow = document.facts().ranks ? trace::stragglers(*document.facts().ranks)
                                     : std::vector<trace::RankId>{};
  slow.resize(std::min(slow.size(), kMostMarked));
  view.set_stragglers(std::move(slow));
  const bool is_store_order = std::is_sorted(order.begin(), order.end());
  if (is_store_order || !document.facts().states) {
    view.set_rows(document.facts().states, document.facts().trace, order);
    update_view_boxes();
    return;
  }
  // Other orders have a pyramid of their own: neighbours in it must be neighbours on screen.
  overview_work_[side].start(
      [trace = document.facts().trace, order](std::stop_token stop) {
        return std::make_shared<trace::LodPyramid>(trace, trace::state_rows(*trace, order), stop);
      },
      [this, side, trace = document.facts().trace,
       order](std::shared_ptr<trace::LodPyramid> states) {
        overview(side).set_rows(std::move(states), trace, order);
        update_view_boxes();
      });
}

void MainWindow::update_view_boxes() {
  const TimelineScene& scene = timeline_a_->scene();
  if (scene.is_empty()) return;
  for (const int side : {0, 1}) {
    if (!workspace_.document(side).is_open()) continue;
    const bool is_stacked_b = side == 1 && timeline_b_->isVisible();
    const TimelineView& view = is_stacked_b ? *timeline_b_ : *timeline_a_;
    const int top = view.verticalScrollBar()->value(),
              bottom = top + std::max(1, view.viewport()->height() - TimelineView::kRuler);
    const auto [first, last] = view.layout_rows().visible(top, bottom);
    // The ranks that the timeline shows now, as rows of the overview.
    double low = 1e18, high = -1;
    const trace::TraceStore& store = workspace_.document(side).trace();
    for (std::size_t i = first; i < last; ++i) {
      const TimelineRow& row = view.layout_rows().rows[i];
      if (scene.sides.size() > 1 && row.side != side) continue;
      trace::RankId rank = 0;
      if (row.kind == RowKind::rank)
        rank = row.id;
      else if (row.kind == RowKind::track)
        rank = store.tracks()[row.id].rank;
      else
        continue;
      const auto at = std::find(order_of_[side].begin(), order_of_[side].end(), rank);
      if (at == order_of_[side].end()) continue;
      low = std::min(low, static_cast<double>(at - order_of_[side].begin()));
      high = std::max(high, static_cast<double>(at - order_of_[side].begin()));
    }
    TimeRange shown = timeline_a_->view();
    if (side == 1 && compare_->time_map())
      shown = {compare_->time_map()->a_to_b(shown.start),
               std::max(compare_->time_map()->a_to_b(shown.start) + 1,
                        compare_->time_map()->a_to_b(shown.end))};
    overview(side).set_window((*actions_)["overview_follows"]->isChecked() ? std::optional(shown)
                                                                           : std::nullopt);
    overview(side).set_view(
        shown, high < 0 ? 0 : low,
        high < 0 ? static_cast<double>(order_of_[side].size()) : high - low + 1);
  }
  frame_->setText(QString("%1 ms").arg(timeline_a_->last_paint_ms(), 0, 'f', 1));
  frame_->setToolTip("Time of the last frame of the timeline");
}

void MainWindow::update_hit_ticks() {
  const auto& hits = workspace_.hits();
  const TimeRange shown = overview_a_->shown();
  overview_a_->set_hits(hits.slices.empty() || !workspace_.a.is_open()
                            ? std::vector<std::uint8_t>{}
                            : trace::hit_ticks(workspace_.a.trace(), hits.slices, shown.start,
                                               shown.end, overview_a_->strip_width()));
}

void MainWindow::compare_reports(const QStringList& paths) {
  if (paths.isEmpty()) return;
  if (paths.size() != 2)
    return tell(QString("%1 reports were chosen; a comparison takes two").arg(paths.size()));
  if (const QString problem = reports_panel_->compare(paths[0], paths[1]); !problem.isEmpty())
    return tell(problem);
  show_dock("reports");
}

void MainWindow::update_legend() {
  std::vector<bool> found(kSliceCategories, false);
  for (const int side : {0, 1}) {
    if (!workspace_.document(side).is_open()) continue;
    for (const trace::Op& op : workspace_.document(side).trace().ops())
      found[static_cast<std::size_t>(op.shown)] = true;
  }
  std::vector<SliceCategory> present;
  for (int i = 0; i < kSliceCategories; ++i)
    if (found[static_cast<std::size_t>(i)]) present.push_back(static_cast<SliceCategory>(i));
  legend_->set_present(present);
}

void MainWindow::update_marks() {
  std::vector<TimeMark> marks;
  if (workspace_.a.is_open()) {
    const Nanoseconds base = workspace_.a.trace().begin();
    for (const auto& b : workspace_.bookmarks)
      marks.push_back({base + b.time, 0, QString::fromStdString(b.text),
                       QColor(QString::fromStdString(b.colour))});
    for (const auto& n : workspace_.notes)
      marks.push_back(
          {base + n.begin, base + n.end, QString::fromStdString(n.text), theme().b_edge});
  }
  timeline_a_->set_marks(marks);
}

void MainWindow::update_title() {
  QString title = "Stepcast viewer";
  if (workspace_.a.is_open() || workspace_.a.is_loading())
    title = workspace_.a.title() + " - " + title;
  if (workspace_.b.is_open() || workspace_.b.is_loading())
    title = "A " + workspace_.a.title() + " | B " + workspace_.b.title() + " - Stepcast viewer";
  setWindowTitle(title);
}

QStringList MainWindow::recent() const { return settings_->value("recent").toStringList(); }
void MainWindow::note_recent(const QStringList& paths) {
  QStringList all;
  for (const QString& path : paths) all << QFileInfo(path).absoluteFilePath();
  QStringList list = recent();
  const QString entry = all.join('\n');
  list.removeAll(entry);
  list.prepend(entry);
  while (list.size() > kRecentKept) list.removeLast();
  settings_->setValue("recent", list);
  rebuild_recent_menu();
}
void MainWindow::rebuild_recent_menu() {
  recent_menu_->clear();
  for (const QString& entry : recent()) {
    const QStringList paths = entry.split('\n');
    const QFileInfo info(paths.front());
    QString text = info.dir().dirName() + "/" + info.fileName();
    if (paths.size() > 1) text += QString(" and %1 more").arg(paths.size() - 1);
    QAction* action = recent_menu_->addAction(text, this, [this, paths] { open(paths); });
    action->setToolTip(entry);
    action->setEnabled(info.exists());
  }
  recent_menu_->setEnabled(!recent_menu_->isEmpty());
}

void MainWindow::tell(const QString& problem) {
  auto* box =
      new QMessageBox(QMessageBox::Warning, "Stepcast viewer", problem, QMessageBox::Ok, this);
  box->setTextInteractionFlags(Qt::TextSelectableByMouse);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();  // not modal to the program: nothing else waits
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}
void MainWindow::dragMoveEvent(QDragMoveEvent* event) {
  // On the lower half with a trace open: compare.
  const bool compares = workspace_.a.is_open() && event->position().y() > height() / 2.0;
  statusBar()->showMessage(compares ? "Drop: open as B and compare" : "Drop: open", 1500);
  event->acceptProposedAction();
}
void MainWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) paths << url.toLocalFile();
  if (paths.isEmpty()) return;
  const bool compares = workspace_.a.is_open() && event->position().y() > height() / 2.0;
  event->acceptProposedAction();
  if (paths.size() == 2 && std::all_of(paths.begin(), paths.end(), ReportsPanel::is_report))
    return compare_reports(paths);
  open(paths, compares ? 1 : 0);
}
}  // namespace stepcast::gui
