#include <QHBoxLayout>
#include <QTabWidget>

#include "gui/app/rank_panels.hpp"
#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/models/trace_tables.hpp"

namespace stepcast::gui {
ImportPanel::ImportPanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  auto* line = new QHBoxLayout;
  side_ = new QComboBox(this);
  side_->addItems({"Trace A", "Trace B"});
  head_ = new QLabel(this);
  head_->setWordWrap(true);
  line->addWidget(side_);
  line->addWidget(head_, 1);
  column_->addLayout(line);
  auto* tabs = new QTabWidget(this);
  tabs->setDocumentMode(true);
  anomalies_ = new TableView(tabs);
  counts_ = new TableView(tabs);
  sources_ = new TableView(tabs);
  metadata_ = new TableView(tabs);
  counts_->setSortingEnabled(false);
  tabs->addTab(anomalies_, "Oddities");
  tabs->addTab(counts_, "Counts");
  tabs->addTab(sources_, "Files and clocks");
  tabs->addTab(metadata_, "Metadata");
  column_->addWidget(tabs, 1);
  connect(side_, &QComboBox::activated, this, [this] { refresh(); });
  for (TraceDocument* document : {&workspace.a, &workspace.b})
    connect(document, &TraceDocument::trace_changed, this, [this] { refresh(); });
}
void ImportPanel::rebuild() {
  TraceDocument& document = workspace_.document(side_->currentIndex());
  if (!document.is_open()) {
    head_->setText("No trace is open");
    for (TableView* table : {counts_, anomalies_, sources_, metadata_}) table->show_table({});
    return;
  }
  const trace::ImportReport& r = document.report();
  // The mapped copy of an earlier reading keeps what was counted; nothing was read this time.
  const QString how = r.seconds > 0 ? QString("read in %1").arg(time_text(r.seconds * 1e9))
                                    : QString("from the copy of an earlier reading");
  QString text = document.is_loading()
                     ? QString("Reading ...")
                     : QString("%L1 events %2; %L3 lost").arg(r.events).arg(how).arg(r.lost);
  if (r.is_cancelled) text += "; reading was stopped, so this is a part of the trace";
  head_->setText(text);
  counts_->show_table(import_counts_table(r));
  anomalies_->show_table(import_anomaly_table(r));
  sources_->show_table(source_table(document.trace(), r));
  Table m;
  m.empty_text = "The files carry no metadata";
  m.columns = {{"key"}, {"value"}, {"file"}};
  for (const trace::MetadataEntry& e : document.trace().metadata())
    m.rows.push_back({{text_from(e.key), text_from(e.value),
                       e.source < document.trace().sources().size()
                           ? text_from(document.trace().sources()[e.source].path)
                           : QString()}});
  metadata_->show_table(std::move(m));
}

NotesPanel::NotesPanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  table_ = add_table();
  connect(&workspace, &Workspace::notes_edited, this, [this] { refresh(); });
  // Ids: bookmarks are even, notes odd.
  connect(table_, &TableView::row_activated, this, [this](qulonglong id) {
    const std::size_t index = id / 2;
    if (!workspace_.a.is_open()) return;
    const Nanoseconds base = workspace_.a.trace().begin();
    if (id % 2 == 0 && index < workspace_.bookmarks.size()) {
      const Nanoseconds t = base + workspace_.bookmarks[index].time;
      const Nanoseconds reach =
          std::max<Nanoseconds>(1000, (workspace_.a.trace().end() - base) / 200);
      emit workspace_.range_wanted(t - reach, t + reach);
    } else if (id % 2 == 1 && index < workspace_.notes.size()) {
      emit workspace_.range_wanted(
          base + workspace_.notes[index].begin,
          base + std::max(workspace_.notes[index].end, workspace_.notes[index].begin + 1));
    }
  });
}
void NotesPanel::rebuild() {
  Table t;
  t.empty_text =
      "M bookmarks a moment, Shift+M writes a note on the marked area.\nBoth are kept in the "
      "session.";
  t.columns = {{"kind"}, {"text"}, {"at", CellKind::time}, {"length", CellKind::time}, {"where"}};
  for (std::size_t i = 0; i < workspace_.bookmarks.size(); ++i) {
    const auto& b = workspace_.bookmarks[i];
    TableRow row{{"bookmark", QString::fromStdString(b.text), static_cast<double>(b.time), "",
                  QString::fromStdString(b.track)}};
    row.id = i * 2;
    row.swatch = QColor(QString::fromStdString(b.colour));
    t.rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < workspace_.notes.size(); ++i) {
    const auto& n = workspace_.notes[i];
    TableRow row{{"note", QString::fromStdString(n.text), static_cast<double>(n.begin),
                  static_cast<double>(n.end - n.begin), QString::fromStdString(n.track)}};
    row.id = i * 2 + 1;
    t.rows.push_back(std::move(row));
  }
  table_->show_table(std::move(t));
}
}  // namespace stepcast::gui
