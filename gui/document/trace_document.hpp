#pragma once
#include <QObject>
#include <QStringList>

#include "gui/document/background.hpp"
#include "gui/document/trace_facts.hpp"
#include "gui/document/trace_import.hpp"
#include "sim/timeline/read/open_trace.hpp"

namespace stepcast::gui {
/// One opened trace: loads it on a worker, shows what is already read, then derives the facts one
/// after the other. What is no trace yet goes through `stepcast import` first.
class TraceDocument : public QObject {
  Q_OBJECT
 public:
  explicit TraceDocument(QObject* parent = nullptr);

  /// Starts reading; an earlier reading is stopped. `cache_folder` "" = no cache.
  void open(const QStringList& paths, const QString& cache_folder = {});
  /// Keeps what was read so far; an import that was not read yet is given up.
  void cancel();
  void close();

  bool is_open() const { return facts_.trace != nullptr; }
  bool is_loading() const { return is_loading_; }
  const QStringList& paths() const { return paths_; }
  QString title() const;  // the file's name, or its folder's where the name says nothing
  const trace::TraceStore& trace() const { return *facts_.trace; }
  const TraceFacts& facts() const { return facts_; }
  const trace::ImportReport& report() const { return report_; }

 signals:
  void progressed(double share, const QString& doing);  // share below 0: unknown
  void trace_changed(bool is_final);
  void facts_changed();
  void finished();                      // read and derived
  void failed(const QString& problem);  // nothing to show; says why

 private:
  /// `imported`: what was met while the files were made from others.
  void read(const QStringList& files, const QString& cache_folder, const Anomalies& imported);
  void show(trace::TracePtr trace, bool is_final);
  void derive();
  QStringList paths_;
  TraceFacts facts_;
  trace::ImportReport report_;
  std::stop_source reading_stop_;
  TraceImport importing_;
  Background reading_, deriving_;
  bool is_loading_ = false;
};
}  // namespace stepcast::gui
