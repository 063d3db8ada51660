#include "gui/app/action_list.hpp"

#include <QSettings>
#include <QWidget>

#include "sim/core/assert.hpp"

namespace stepcast::gui {
const std::vector<ActionSpec>& action_specs() {
  static const std::vector<ActionSpec> specs{
      {"open", "File", "Open trace...", "Ctrl+O",
       "Open one or several traces: stepcast, Chrome/Perfetto JSON, PyTorch profiler, .gz; or "
       "what stepcast import reads: Nsight Systems' SQLite export, Chakra, GOAL, workloads"},
      {"open_folder", "File", "Open folder...", "Ctrl+Shift+O",
       "Open a folder with one trace per rank, merged"},
      {"compare", "File", "Compare with...", "Ctrl+Shift+C", "Open a second trace as B"},
      {"close_b", "File", "Close B", "", "Leave the comparison"},
      {"swap", "File", "Swap A and B", "", "Exchange the two traces"},
      {"reload", "File", "Reload", "Ctrl+R; F5", "Read the files again"},
      {"cancel", "File", "Cancel loading", "Ctrl+.", "Stop reading; what was read stays"},
      {"save_session", "File", "Save session...", "Ctrl+S",
       "Views, pins, notes, filters and the compared pair into a file"},
      {"load_session", "File", "Open session...", "", "Restore a saved session"},
      {"export_png", "File", "Export picture...", "Ctrl+E", "The timeline as PNG or SVG"},
      {"export_trace", "File", "Export trimmed trace...", "",
       "The marked area (else the view) as a trace that opens again"},
      {"export_csv", "File", "Export slices as CSV...", "",
       "Slices of the marked area, or those that match the filter"},
      {"export_report", "File", "Export HTML report...", "", "Pictures and tables in one file"},
      {"quit", "File", "Quit", "Ctrl+Q", "Close the viewer; the session is kept"},
      {"zoom_in", "Navigate", "Zoom in", "W; =; +", "Closer around the pointer"},
      {"zoom_out", "Navigate", "Zoom out", "S; -", "Farther around the pointer"},
      {"zoom_in_fast", "Navigate", "Zoom in fast", "Shift+W", "Four times closer"},
      {"zoom_out_fast", "Navigate", "Zoom out fast", "Shift+S", "Four times farther"},
      {"pan_left", "Navigate", "Earlier", "A; Left", "An eighth of the view to the left"},
      {"pan_right", "Navigate", "Later", "D; Right", "An eighth of the view to the right"},
      {"pan_left_fast", "Navigate", "Earlier, fast", "Shift+A; Shift+Left",
       "Three quarters of the view to the left"},
      {"pan_right_fast", "Navigate", "Later, fast", "Shift+D; Shift+Right",
       "Three quarters of the view to the right"},
      {"rows_up", "Navigate", "Rows up", "Up", "Scroll the rows"},
      {"rows_down", "Navigate", "Rows down", "Down", "Scroll the rows"},
      {"rows_up_fast", "Navigate", "Page up", "PgUp; Shift+Up", "Scroll the rows by a page"},
      {"rows_down_fast", "Navigate", "Page down", "PgDown; Shift+Down",
       "Scroll the rows by a page"},
      {"fit", "Navigate", "Fit selection", "F",
       "The selected slice, else the marked area, fills the view"},
      {"fit_all", "Navigate", "Fit all", "0; Home", "The whole trace"},
      {"undo_view", "Navigate", "Undo zoom or selection", "Backspace; Alt+Left; Ctrl+Z",
       "Back to the former view"},
      {"redo_view", "Navigate", "Redo zoom or selection", "Alt+Right; Ctrl+Shift+Z; Ctrl+Y",
       "Forward again"},
      {"next_slice", "Navigate", "Next slice of the lane", ".", "Select the next slice"},
      {"previous_slice", "Navigate", "Previous slice of the lane", ",",
       "Select the previous slice"},
      {"next_flow", "Navigate", "Along the arrow", "]", "Select where an arrow of the slice leads"},
      {"previous_flow", "Navigate", "Against the arrow", "[",
       "Select where an arrow into the slice comes from"},
      {"partner", "Navigate", "Partner in the other trace", "X",
       "Select the matched slice of the other trace"},
      {"goto_time", "Navigate", "Go to time...", "Ctrl+G", "Centre a time such as 12.5 ms"},
      {"next_step", "Navigate", "Next step", "N", "Fit the next training step"},
      {"previous_step", "Navigate", "Previous step", "Shift+N", "Fit the previous training step"},
      {"search", "Search", "Search", "/; Ctrl+F",
       "Filter language: name ~ \"allreduce\" and dur > 1ms and rank in 0..63"},
      {"next_hit", "Search", "Next hit", "F3", "Select the next slice that matches"},
      {"previous_hit", "Search", "Previous hit", "Shift+F3",
       "Select the previous slice that matches"},
      {"filter_like_this", "Search", "Filter by this op", "Ctrl+L",
       "Show only slices named as the selected one"},
      {"palette", "Search", "Command palette", "Ctrl+Shift+P", "Every command by name"},
      {"find_track", "Search", "Go to rank or stream...", "Ctrl+P", "Find a row by name"},
      {"clear", "Select", "Clear selection", "Esc",
       "First the slice, then the area, then the filter"},
      {"area_of_slice", "Select", "Area from slice", "R", "Mark the time of the selected slice"},
      {"copy", "Select", "Copy", "C; Ctrl+C", "The selected slice as text"},
      {"copy_json", "Select", "Copy as JSON", "Shift+C",
       "The selected slice with its arguments as JSON"},
      {"bookmark", "Select", "Bookmark", "M", "Remember this time, or the selected slice"},
      {"note", "Select", "Note...", "Shift+M",
       "Write a note on the marked area or the selected slice"},
      {"pin", "Rows", "Pin or unpin", "P", "Keep the stream at the top"},
      {"hide", "Rows", "Hide stream", "H",
       "Hide the stream of the selected slice or under the pointer"},
      {"show_all", "Rows", "Show hidden streams", "Shift+H", "All streams again"},
      {"expand_all", "Rows", "Open all ranks", "E", "Show every stream"},
      {"collapse_all", "Rows", "Close all ranks", "Shift+E", "Show one state lane per rank"},
      {"fold_alike", "Rows", "Fold ranks that are alike", "G",
       "Ranks with the same streams and counts share a row", true},
      {"taller", "Rows", "Taller rows", "Ctrl+Up", "More room per lane"},
      {"flatter", "Rows", "Flatter rows", "Ctrl+Down", "Less room per lane"},
      {"flows", "Show", "Arrows of the selection", "Shift+F",
       "Messages and launches of the selected slice", true},
      {"overview_follows", "Show", "Overview follows the view", "Z",
       "All ranks over the time that the timeline shows, in place of the whole trace", true},
      {"critical", "Show", "Critical path", "K",
       "Dim what could have been later without moving the end", true},
      {"colour_category", "Show", "Colour by category", "1", "What a slice is"},
      {"colour_name", "Show", "Colour by name", "2", "A colour for each op"},
      {"colour_slowness", "Show", "Colour by slowness", "3",
       "Duration against the median of the op"},
      {"theme", "Show", "Light theme", "Ctrl+T", "Dark or light", true},
      {"colour_blind", "Show", "Colour-blind palette", "",
       "Colours told apart under colour-vision deficiencies", true},
      {"layout_explore", "Show", "Layout: explore", "F9", "Docks for one trace"},
      {"layout_compare", "Show", "Layout: compare", "F10", "Docks for two traces"},
      {"layout_whatif", "Show", "Layout: what if", "F11", "Docks for scenarios"},
      {"stacked", "Compare", "Stacked", "", "A above B with linked zoom"},
      {"interleaved", "Compare", "Interleaved", "",
       "Rows of A and B under each other, with a delta lane"},
      {"compare_reports", "Compare", "Compare reports...", "",
       "From the step of one report.json to that of another, by category; no trace is needed"},
      {"run_scenario", "What if", "Run scenario", "Ctrl+Return", "Simulate the edited scenario"},
      {"stop_scenario", "What if", "Stop running scenarios", "Ctrl+Shift+Return",
       "Ends the simulations that run"},
      {"keys", "Help", "Keys", "?; F1", "All keys; a double click changes one"},
      {"about_categories", "Help", "Categories", "", "How categories are defined"}};
  return specs;
}

QList<QKeySequence> ActionList::default_keys(const ActionSpec& spec) {
  QList<QKeySequence> keys;
  for (const QString& text : QString(spec.keys).split("; ", Qt::SkipEmptyParts))
    keys << QKeySequence(text);
  return keys;
}

ActionList::ActionList(QWidget* window, QSettings& settings)
    : QObject(window), settings_(settings) {
  for (const ActionSpec& spec : action_specs()) {
    auto* action = new QAction(spec.text, window);
    action->setObjectName(spec.id);
    action->setCheckable(spec.is_checkable);
    action->setShortcutContext(Qt::WindowShortcut);
    action->setProperty("group", spec.group);
    action->setProperty("tip", spec.tip);
    window->addAction(action);
    actions_.insert(spec.id, action);
  }
  load();
}

void ActionList::load() {
  for (const ActionSpec& spec : action_specs()) {
    QList<QKeySequence> keys = default_keys(spec);
    const QVariant own = settings_.value(QString("keys/") + spec.id);
    if (own.isValid()) {
      keys.clear();
      for (const QString& text : own.toStringList())
        if (!text.isEmpty()) keys << QKeySequence(text);
    }
    QAction* action = actions_[spec.id];
    action->setShortcuts(keys);
    action->setToolTip(QString(spec.text) +
                       (keys.isEmpty() ? "" : " (" + keys_text(*action) + ")") + "\n" + spec.tip);
    action->setStatusTip(spec.tip);
  }
}

QAction* ActionList::operator[](const QString& id) const {
  STEPCAST_ASSERT(actions_.contains(id), "ids are literals of the list above");
  return actions_[id];
}
void ActionList::on(const QString& id, std::function<void()> handler) {
  connect((*this)[id], &QAction::triggered, this, [handler = std::move(handler)] { handler(); });
}

QString ActionList::rebind(const QString& id, const QList<QKeySequence>& keys) {
  for (auto it = actions_.cbegin(); it != actions_.cend(); ++it)
    for (const QKeySequence& key : keys)
      if (it.key() != id && it.value()->shortcuts().contains(key)) return it.value()->text();
  QStringList texts;
  for (const QKeySequence& key : keys) texts << key.toString(QKeySequence::PortableText);
  if (texts.isEmpty()) texts << "";  // no keys is a choice as well
  settings_.setValue("keys/" + id, texts);
  load();
  return {};
}
void ActionList::reset_all() {
  settings_.remove("keys");
  load();
}

QString keys_text(const QAction& action) {
  QStringList texts;
  for (const QKeySequence& key : action.shortcuts())
    texts << key.toString(QKeySequence::NativeText);
  return texts.join(", ");
}
}  // namespace stepcast::gui
