#include <QCloseEvent>
#include <QDir>
#include <QFileInfo>
#include <QScrollBar>
#include <QStandardPaths>
#include <QStatusBar>
#include <algorithm>

#include "gui/app/main_window.hpp"
#include "gui/app/what_if_panel.hpp"

/// What the user made is kept: on disk every few seconds, and restored at the next start.
namespace stepcast::gui {
QString MainWindow::session_file() const {
  // Beside the settings, so that a test's settings file brings its own session.
  return QFileInfo(settings_->fileName())
      .absoluteDir()
      .filePath(QFileInfo(settings_->fileName()).completeBaseName() + ".session.json");
}

trace::Session MainWindow::session() const {
  trace::Session s;
  if (workspace_.a.is_open() || workspace_.a.is_loading()) {
    s.traces.push_back({{}, "A"});
    for (const QString& path : workspace_.a.paths())
      s.traces.back().paths.push_back(path.toStdString());
  }
  if (workspace_.b.is_open()) {
    s.traces.push_back({{}, "B"});
    for (const QString& path : workspace_.b.paths())
      s.traces.back().paths.push_back(path.toStdString());
  }
  if (workspace_.a.is_open() && !timeline_a_->scene().is_empty()) {
    const trace::TraceStore& store = workspace_.a.trace();
    const RowChoice& choice = timeline_a_->scene().sides[0].choice;
    s.view = {"", timeline_a_->view().start - store.begin(),
              timeline_a_->view().end - store.begin(),
              static_cast<double>(timeline_a_->verticalScrollBar()->value()),
              static_cast<double>(choice.lane_height)};
    for (const trace::TrackId track : choice.pinned)
      s.pinned.push_back(Workspace::track_path(store, track));
    for (const trace::TrackId track : choice.hidden)
      s.hidden.push_back(Workspace::track_path(store, track));
    for (trace::RankId rank = 0; rank < store.ranks().size(); ++rank)
      if (!choice.open_ranks.contains(rank)) s.collapsed.push_back(store.ranks()[rank].label);
  }
  s.views = stored_views_;
  s.bookmarks = workspace_.bookmarks;
  s.notes = workspace_.notes;
  if (!workspace_.filter_text().isEmpty())
    s.filters.push_back(workspace_.filter_text().toStdString());
  for (const QString& scenario : what_if_->session_texts())
    s.scenarios.push_back(scenario.toStdString());
  static constexpr const char* kAlignments[]{"absolute", "begin", "first_common_step", "every_step",
                                             "manual"};
  s.alignment = kAlignments[static_cast<int>(compare_->alignment())];
  s.manual_offset = compare_->offset();
  s.layout = saveState().toBase64().toStdString();
  s.settings = {{"overview_mode", std::to_string(mode_box_->currentIndex())},
                {"order", std::to_string(order_box_->currentIndex())},
                {"colours", std::to_string(colour_box_->currentIndex())},
                {"interleaved", is_interleaved_ ? "1" : "0"},
                {"overview_follows", (*actions_)["overview_follows"]->isChecked() ? "1" : "0"}};
  return s;
}

void MainWindow::autosave_now() {
  if (!workspace_.a.is_open() && what_if_->session_texts().isEmpty()) return;
  if (pending_session_) return;  // being restored: what is on screen is not yet what the user left
  try {
    trace::Autosave(session_file().toStdString()).save(session());
  } catch (const std::exception& e) {
    statusBar()->showMessage(QString("the session cannot be kept: ") + e.what(), 5000);
  }
}

bool MainWindow::restore_last_session() {
  const std::string path = session_file().toStdString();
  if (const auto lost = trace::Autosave(path).recover()) {
    restore(*lost);
    statusBar()->showMessage("The last run did not end well; what it left is restored", 8000);
    return true;
  }
  if (!QFileInfo::exists(session_file())) return false;
  const auto read = trace::read_session(path);
  if (!read) {
    tell("The kept session cannot be read:\n" + QString::fromStdString(read.problems().text()));
    return false;
  }
  restore(*read);
  return true;
}

void MainWindow::restore(const trace::Session& session) {
  workspace_.bookmarks = session.bookmarks;
  workspace_.notes = session.notes;
  workspace_.notes_changed();
  stored_views_ = session.views;
  stored_views_.resize(10);
  QStringList scenarios;
  for (const std::string& text : session.scenarios) scenarios << QString::fromStdString(text);
  what_if_->restore_texts(scenarios);
  for (const auto& [key, value] : session.settings) {
    const int number = QString::fromStdString(value).toInt();
    if (key == "overview_mode" && number >= 0 && number < mode_box_->count())
      set_overview_mode(static_cast<OverviewMode>(number));
    if (key == "order" && number >= 0 && number < order_box_->count())
      order_box_->setCurrentIndex(number), order_ = static_cast<RankOrder>(number);
    if (key == "colours" && number >= 0 && number < colour_box_->count())
      colour_box_->setCurrentIndex(number);
    if (key == "interleaved") set_interleaved(number == 1);
    if (key == "overview_follows") (*actions_)["overview_follows"]->setChecked(number == 1);
  }
  static const std::vector<std::string> alignments{"absolute", "begin", "first_common_step",
                                                   "every_step", "manual"};
  const auto at = std::find(alignments.begin(), alignments.end(), session.alignment);
  if (at != alignments.end())
    compare_->set_alignment(static_cast<trace::Alignment>(at - alignments.begin()));
  if (session.alignment == "manual") compare_->set_offset(session.manual_offset);
  QStringList missing;
  for (const trace::SessionTrace& t : session.traces) {
    QStringList paths;
    for (const std::string& path : t.paths) {
      paths << QString::fromStdString(path);
      if (!QFileInfo::exists(paths.back())) missing << paths.back();
    }
    if (paths.isEmpty() || (!missing.isEmpty() && missing.contains(paths.front()))) continue;
    if (t.role == "B")
      open(paths, 1);
    else {
      pending_session_ = session;
      open(paths, 0);
    }
  }
  if (!missing.isEmpty())
    tell("These files of the session are no longer there:\n" + missing.join('\n'));
  if (!session.layout.empty())
    restoreState(QByteArray::fromBase64(QByteArray::fromStdString(session.layout)));
  if (!session.filters.empty()) search(QString::fromStdString(session.filters.front()));
}

void MainWindow::apply_session() {
  if (!pending_session_ || timeline_a_->scene().is_empty()) return;
  const trace::Session s = *pending_session_;
  pending_session_.reset();
  const trace::TraceStore& store = workspace_.a.trace();
  RowChoice& choice = timeline_a_->scene_for_change().sides[0].choice;
  choice.pinned.clear();
  for (const std::string& path : s.pinned)
    if (const auto track = Workspace::track_of_path(store, path); track != trace::kNoId)
      choice.pinned.push_back(track);
  choice.hidden.clear();
  for (const std::string& path : s.hidden)
    if (const auto track = Workspace::track_of_path(store, path); track != trace::kNoId)
      choice.hidden.insert(track);
  choice.open_ranks.clear();
  for (trace::RankId rank = 0; rank < store.ranks().size(); ++rank)
    if (std::find(s.collapsed.begin(), s.collapsed.end(), store.ranks()[rank].label) ==
        s.collapsed.end())
      choice.open_ranks.insert(rank);
  if (s.view.row_height >= 6) choice.lane_height = static_cast<int>(s.view.row_height);
  timeline_a_->relayout();
  if (s.view.end > s.view.begin)
    timeline_a_->set_view({store.begin() + s.view.begin, store.begin() + s.view.end});
  timeline_a_->verticalScrollBar()->setValue(static_cast<int>(s.view.first_row));
}

void MainWindow::closeEvent(QCloseEvent* event) {
  settings_->setValue("window", saveState());
  what_if_->stop();
  if (workspace_.a.is_open() || !what_if_->session_texts().isEmpty()) {
    try {
      trace::write_session(session_file().toStdString(), session());
      trace::Autosave(session_file().toStdString()).remove();
    } catch (const std::exception&) {
      // The autosave stays, which is as good as the session.
    }
  }
  event->accept();
}
}  // namespace stepcast::gui
