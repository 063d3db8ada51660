#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QMessageBox>
#include <QScrollBar>
#include <QStatusBar>
#include <algorithm>

#include "gui/app/dialogs.hpp"
#include "gui/app/main_window.hpp"
#include "gui/app/what_if_panel.hpp"
#include "gui/look/text.hpp"
#include "gui/models/trace_tables.hpp"

/// What every action does.
namespace stepcast::gui {
void MainWindow::connect_actions() {
  ActionList& on = *actions_;
  TimelineView* view = timeline_a_;
  on.on("open", [this] { open(chooser_.open_files("Open trace")); });
  on.on("open_folder", [this] {
    const QString folder = chooser_.open_folder("Open folder of traces");
    if (!folder.isEmpty()) open({folder});
  });
  on.on("compare", [this] { open(chooser_.open_files("Compare with"), 1); });
  on.on("close_b", [this] {
    workspace_.b.close();
    compare_->restart();
    rebuild_scene(true);
    rebuild_overview(0);
    rebuild_overview(1);
    update_title();
    compare_panel_->refresh();
  });
  on.on("swap", [this] {
    const QStringList a = workspace_.a.paths(), b = workspace_.b.paths();
    if (a.isEmpty() || b.isEmpty()) return;
    open(b, 0);
    open(a, 1);
  });
  on.on("reload", [this] {
    if (!workspace_.a.paths().isEmpty()) open(QStringList(workspace_.a.paths()));
  });
  on.on("cancel", [this] {
    workspace_.a.cancel();
    workspace_.b.cancel();
  });
  on.on("save_session", [this] {
    const QString path =
        chooser_.save_file("Save session", "session.stepcast.json", "Sessions (*.json)");
    if (path.isEmpty()) return;
    try {
      trace::write_session(path.toStdString(), session());
    } catch (const std::exception& e) {
      tell(QString::fromUtf8(e.what()));
    }
  });
  on.on("load_session", [this] {
    const QStringList paths = chooser_.open_files("Open session");
    if (paths.isEmpty()) return;
    const auto read = trace::read_session(paths.front().toStdString());
    if (read)
      restore(*read);
    else
      tell(QString::fromStdString(read.problems().text()));
  });
  const auto save = [this](const QString& title, const QString& name, const QString& filter,
                           QString (MainWindow::*write)(const QString&)) {
    const QString path = chooser_.save_file(title, name, filter);
    if (path.isEmpty()) return;
    const QString problem = (this->*write)(path);
    if (problem.isEmpty())
      statusBar()->showMessage("written: " + path, 5000);
    else
      tell(problem);
  };
  on.on("export_png", [save] {
    save("Export picture", "timeline.png", "PNG (*.png);;SVG (*.svg)", &MainWindow::export_picture);
  });
  on.on("export_trace", [save] {
    save("Export trimmed trace", "part.json.gz", "Chrome trace (*.json.gz *.json)",
         &MainWindow::export_trimmed_trace);
  });
  on.on("export_csv",
        [save] { save("Export slices", "slices.csv", "CSV (*.csv)", &MainWindow::export_slices); });
  on.on("export_report", [save] {
    save("Export report", "report.html", "HTML (*.html)", &MainWindow::export_report);
  });
  on.on("quit", [this] { close(); });
  on.on("zoom_in", [view] { view->zoom_by(1 / 1.4); });
  on.on("zoom_out", [view] { view->zoom_by(1.4); });
  on.on("zoom_in_fast", [view] { view->zoom_by(0.25); });
  on.on("zoom_out_fast", [view] { view->zoom_by(4); });
  on.on("pan_left", [view] { view->pan_by(-0.125); });
  on.on("pan_right", [view] { view->pan_by(0.125); });
  on.on("pan_left_fast", [view] { view->pan_by(-0.75); });
  on.on("pan_right_fast", [view] { view->pan_by(0.75); });
  const auto focused = [this]() -> TimelineView* {
    return timeline_b_->isVisible() && timeline_b_->hasFocus() ? timeline_b_ : timeline_a_;
  };
  on.on("rows_up", [focused] { focused()->scroll_rows(-66); });
  on.on("rows_down", [focused] { focused()->scroll_rows(66); });
  on.on("rows_up_fast",
        [focused] { focused()->scroll_rows(-focused()->verticalScrollBar()->pageStep()); });
  on.on("rows_down_fast",
        [focused] { focused()->scroll_rows(focused()->verticalScrollBar()->pageStep()); });
  on.on("fit", [view] { view->fit_selection(); });
  on.on("fit_all", [view] { view->fit_all(); });
  on.on("undo_view", [view] { view->undo_view(); });
  on.on("redo_view", [view] { view->redo_view(); });
  on.on("next_slice", [focused] { focused()->next_slice(); });
  on.on("previous_slice", [focused] { focused()->previous_slice(); });
  on.on("next_flow", [focused] { focused()->next_flow(); });
  on.on("previous_flow", [focused] { focused()->previous_flow(); });
  on.on("partner", [this] {
    const SliceRef other = compare_->partner_of(workspace_.selected());
    if (other.is_set()) jump(other);
  });
  on.on("goto_time", [this] { go_to_time(); });
  on.on("next_step", [this] { step_step(1); });
  on.on("previous_step", [this] { step_step(-1); });
  on.on("search", [this] {
    search_->setFocus(Qt::ShortcutFocusReason);
    search_->selectAll();
  });
  on.on("next_hit", [this] { step_hit(true); });
  on.on("previous_hit", [this] { step_hit(false); });
  on.on("filter_like_this", [this] {
    const SliceRef s = workspace_.selected();
    if (!s.is_set()) return;
    QString name = text_from(workspace_.document(s.side).trace().name(s.slice));
    search("name = \"" + name.replace('\\', "\\\\").replace('"', "\\\"") + "\"");
  });
  on.on("palette", [this] {
    std::vector<Palette::Entry> entries;
    for (const ActionSpec& spec : action_specs()) {
      QAction* action = (*actions_)[spec.id];
      entries.push_back({QString(spec.group) + ": " + spec.text, keys_text(*action),
                         [action] { action->trigger(); }});
    }
    (new Palette(std::move(entries), "Type a command", this))->open();
  });
  on.on("find_track", [this] {
    std::vector<Palette::Entry> entries;
    if (workspace_.a.is_open()) {
      const trace::TraceStore& store = workspace_.a.trace();
      for (trace::RankId rank = 0; rank < store.ranks().size(); ++rank) {
        entries.push_back({text_from(store.ranks()[rank].label), "",
                           [this, rank] { emit workspace_.rank_wanted(rank); }});
        for (std::uint32_t k = 0; k < store.ranks()[rank].tracks; ++k) {
          const trace::TrackId track = store.ranks()[rank].first_track + k;
          entries.push_back(
              {text_from(store.ranks()[rank].label) + " / " +
                   text_from(store.tracks()[track].label),
               "", [this, rank, track] {
                 timeline_a_->scene_for_change().sides[0].choice.open_ranks.insert(rank);
                 timeline_a_->scene_for_change().sides[0].choice.hidden.erase(track);
                 timeline_a_->relayout();
                 timeline_a_->scroll_to_row(
                     timeline_a_->layout_rows().row_of_track(workspace_.a.trace(), track));
               }});
        }
      }
    }
    (new Palette(std::move(entries), "Type a rank or a stream", this))->open();
  });
  on.on("clear", [this] {
    if (search_->hasFocus()) {
      timeline_a_->setFocus();
      return;
    }
    if (timeline_a_->selected().is_set() || !timeline_a_->area().is_empty())
      timeline_a_->clear_selection();
    else
      search("");
  });
  on.on("area_of_slice", [view] { view->area_from_selection(); });
  on.on("copy", [this] { copy(false); });
  on.on("copy_json", [this] { copy(true); });
  on.on("bookmark", [this] { add_bookmark(); });
  on.on("note", [this] { add_note(); });
  on.on("pin", [view] { view->toggle_pin(); });
  on.on("hide", [view] { view->hide_row(); });
  on.on("show_all", [this] {
    timeline_a_->show_all_rows();
    timeline_b_->show_all_rows();
  });
  on.on("expand_all", [this] {
    timeline_a_->expand_all();
    timeline_b_->expand_all();
  });
  on.on("collapse_all", [this] {
    timeline_a_->collapse_all();
    timeline_b_->collapse_all();
  });
  on.on("fold_alike", [this] { rebuild_scene(true); });
  on.on("taller", [this] {
    timeline_a_->change_row_height(2);
    timeline_b_->change_row_height(2);
  });
  on.on("flatter", [this] {
    timeline_a_->change_row_height(-2);
    timeline_b_->change_row_height(-2);
  });
  on["flows"]->setChecked(true);
  on.on("flows", [this] { rebuild_scene(true); });
  on.on("critical", [this] { rebuild_scene(true); });
  for (const auto& [id, index] :
       {std::pair{"colour_category", 0}, {"colour_name", 1}, {"colour_slowness", 2}})
    on.on(id, [this, index = index] {
      colour_box_->setCurrentIndex(index);
      rebuild_scene(true);
    });
  on["theme"]->setChecked(theme().kind == ThemeKind::light);
  on["colour_blind"]->setChecked(theme().palette_kind == PaletteKind::colour_blind);
  const auto retheme = [this] {
    set_theme_now((*actions_)["theme"]->isChecked() ? ThemeKind::light : ThemeKind::dark,
                  (*actions_)["colour_blind"]->isChecked() ? PaletteKind::colour_blind
                                                           : PaletteKind::standard);
  };
  on.on("theme", retheme);
  on.on("colour_blind", retheme);
  on.on("layout_explore", [this] { apply_layout("explore"); });
  on.on("layout_compare", [this] { apply_layout("compare"); });
  on.on("layout_whatif", [this] { apply_layout("whatif"); });
  on.on("stacked", [this] { set_interleaved(false); });
  on.on("interleaved", [this] { set_interleaved(true); });
  on.on("compare_reports",
        [this] { compare_reports(chooser_.open_files("Two report.json files")); });
  on.on("overview_follows", [this] { update_view_boxes(); });
  on.on("run_scenario", [this] {
    show_dock("whatif");
    what_if_->run();
  });
  on.on("stop_scenario", [this] { what_if_->stop(); });
  on.on("keys", [this] { (new KeySheet(*actions_, this))->open(); });
  on.on("about_categories", [this] {
    QString text =
        "<p>Every moment of a rank has one owner, so that the categories and idle add up to its "
        "time. When several hold: failure, checkpoint, compute, straggler wait, "
        "exposed communication, data loading, bubble, launch gap, other.</p><table cellpadding=3>";
    for (int i = 0; i < kSliceCategories; ++i) {
      const auto c = static_cast<SliceCategory>(i);
      text += QString(
                  "<tr><td style='background:%1' "
                  "width=18>&nbsp;</td><td><b>%2</b></td><td>%3</td></tr>")
                  .arg(theme().of(c).name(), category_label(c), category_definition(c));
    }
    auto* box = new QMessageBox(QMessageBox::NoIcon, "Categories", text + "</table>",
                                QMessageBox::Close, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
  });
  for (int slot = 0; slot < 10; ++slot) {
    auto* keep = new QAction(QString("Store view %1").arg(slot), this);
    keep->setShortcut(QKeySequence(QString("Ctrl+%1").arg(slot)));
    connect(keep, &QAction::triggered, this, [this, slot] { store_view(slot); });
    auto* recall = new QAction(QString("Recall view %1").arg(slot), this);
    recall->setShortcut(QKeySequence(QString("Alt+%1").arg(slot)));
    connect(recall, &QAction::triggered, this, [this, slot] { recall_view(slot); });
    addActions({keep, recall});
  }
}

void MainWindow::set_theme_now(ThemeKind kind, PaletteKind palette) {
  settings_->setValue("light", kind == ThemeKind::light);
  settings_->setValue("colour_blind", palette == PaletteKind::colour_blind);
  (*actions_)["theme"]->setChecked(kind == ThemeKind::light);
  (*actions_)["colour_blind"]->setChecked(palette == PaletteKind::colour_blind);
  set_theme(kind, palette);
  timeline_a_->repaint_rows();
  timeline_b_->repaint_rows();
  overview_a_->set_mode(overview_a_->mode());
  overview_b_->set_mode(overview_b_->mode());
  for (Panel* panel : findChildren<Panel*>()) panel->refresh();  // tables and charts hold colours
  what_if_->refresh_colours();
  legend_->update();
}

void MainWindow::jump(SliceRef slice) {
  if (!slice.is_set()) return;
  if (slice.side == 1 && timeline_b_->isVisible())
    timeline_b_->select({0, slice.slice}, true);
  else if (slice.side < static_cast<int>(timeline_a_->scene().sides.size()))
    timeline_a_->select(slice, true);
}

void MainWindow::search(const QString& text) {
  if (search_->text() != text) search_->setText(text);
  const QString problem = workspace_.set_filter(text);
  if (!problem.isEmpty()) {
    search_state_->setText("<span style='color:" + theme().error.name() + "'>" +
                           problem.toHtmlEscaped().left(60) + "</span>");
    search_state_->setToolTip(problem);
  }
}

void MainWindow::step_hit(bool is_forward) {
  const auto filter = workspace_.filter(0);
  if (!filter) return;
  const SliceRef now = workspace_.selected();
  const bool has_one = now.is_set() && now.side == 0;
  const Nanoseconds from = has_one      ? workspace_.a.trace().start(now.slice)
                           : is_forward ? timeline_a_->view().start
                                        : timeline_a_->view().end;
  const trace::SliceId hit =
      is_forward ? filter->next_after(from, has_one ? now.slice : trace::kNoId)
                 : filter->previous_before(from, has_one ? now.slice : trace::kNoId);
  if (hit == trace::kNoId)
    statusBar()->showMessage(is_forward ? "No later match" : "No earlier match", 3000);
  else
    jump({0, hit});
}

void MainWindow::step_step(int direction) {
  const auto& steps = workspace_.a.facts().steps;
  if (!steps || steps->common.empty()) return;
  const Nanoseconds middle = timeline_a_->view().start + timeline_a_->view().length() / 2;
  const int count = static_cast<int>(steps->common.size());
  int now = -1;
  for (int i = 0; i < count; ++i)
    if (steps->common[static_cast<std::size_t>(i)].begin <= middle) now = i;
  // A view wider than two steps starts from the first (last) one.
  const bool is_wide =
      timeline_a_->view().length() > 2 * (steps->common[0].end - steps->common[0].begin);
  const int next = is_wide && count > 1 ? (direction > 0 ? 0 : count - 1)
                                        : std::clamp(now + direction, 0, count - 1);
  const trace::Steps::Range& range = steps->common[static_cast<std::size_t>(next)];
  if (range.is_present)
    timeline_a_->set_view(fitted({range.begin, range.end}, timeline_a_->whole()));
}

void MainWindow::copy(bool as_json) {
  if (workspace_.selected().is_set()) {
    QApplication::clipboard()->setText(as_json ? slice_panel_->json() : slice_panel_->text());
    statusBar()->showMessage("slice copied", 2000);
  } else if (workspace_.has_area()) {
    QApplication::clipboard()->setText(area_panel_->sums().copied_text());
    statusBar()->showMessage("sums of the area copied", 2000);
  }
}

void MainWindow::add_bookmark() {
  if (!workspace_.a.is_open()) return;
  const trace::TraceStore& store = workspace_.a.trace();
  const SliceRef s = workspace_.selected();
  trace::SessionBookmark b;
  b.colour = theme().hit.name().toStdString();
  if (s.is_set() && s.side == 0) {
    b.time = store.start(s.slice) - store.begin();
    b.track = Workspace::track_path(store, store.track_of(s.slice));
    b.text = std::string(store.name(s.slice));
  } else {
    b.time = timeline_a_->anchor() - store.begin();
    b.text = "bookmark " + std::to_string(workspace_.bookmarks.size() + 1);
  }
  workspace_.bookmarks.push_back(std::move(b));
  workspace_.notes_changed();
}

void MainWindow::add_note() {
  if (!workspace_.a.is_open()) return;
  const trace::TraceStore& store = workspace_.a.trace();
  trace::SessionNote n;
  const SliceRef s = workspace_.selected();
  if (!timeline_a_->area().is_empty()) {
    n.begin = timeline_a_->area().start - store.begin();
    n.end = timeline_a_->area().end - store.begin();
  } else if (s.is_set() && s.side == 0) {
    n.begin = store.start(s.slice) - store.begin();
    n.end = store.end(s.slice) - store.begin();
    n.track = Workspace::track_path(store, store.track_of(s.slice));
  } else {
    statusBar()->showMessage("Mark an area or select a slice first", 4000);
    return;
  }
  const QString text = chooser_.text("Note", "What is to be remembered here?", "");
  if (text.isEmpty()) return;
  n.text = text.toStdString();
  workspace_.notes.push_back(std::move(n));
  workspace_.notes_changed();
}

void MainWindow::store_view(int slot) {
  if (!workspace_.a.is_open()) return;
  const Nanoseconds base = workspace_.a.trace().begin();
  auto& view = stored_views_[static_cast<std::size_t>(slot)];
  view = {"view " + std::to_string(slot), timeline_a_->view().start - base,
          timeline_a_->view().end - base,
          static_cast<double>(timeline_a_->verticalScrollBar()->value()), 0};
  statusBar()->showMessage(QString("view stored; Alt+%1 recalls it").arg(slot), 3000);
}
void MainWindow::recall_view(int slot) {
  const auto& view = stored_views_[static_cast<std::size_t>(slot)];
  if (!workspace_.a.is_open() || view.end <= view.begin) return;
  const Nanoseconds base = workspace_.a.trace().begin();
  timeline_a_->set_view({base + view.begin, base + view.end});
  timeline_a_->verticalScrollBar()->setValue(static_cast<int>(view.first_row));
}
}  // namespace stepcast::gui
