#pragma once
#include <QObject>
#include <QStringList>
#include <QTemporaryDir>
#include <functional>
#include <memory>

#include "sim/import/common/anomalies.hpp"

class QProcess;

namespace stepcast::gui {
/// Formats that the viewer's own readers do not know (Nsight Systems' SQLite export, Chakra, GOAL,
/// workloads, tables): `stepcast import` makes a Chrome trace of them, away from the window. The
/// trace lives as long as this, because arguments of slices are read from it later.
class TraceImport : public QObject {
 public:
  explicit TraceImport(QObject* parent = nullptr);
  ~TraceImport() override;
  /// True where the files exist and none of them is a trace of the viewer's own readers.
  static bool is_needed(const QStringList& paths);
  struct Answer {
    QString trace;        // "" = failed or stopped
    QString problem;      // as stepcast says it
    Anomalies anomalies;  // what stepcast met while reading
  };
  void start(const QStringList& paths, std::function<void(const Answer&)> done);
  /// Ends the import; `done` is not called.
  void stop();
  bool is_running() const { return process_ != nullptr; }

 private:
  Answer answer_of(QProcess& process) const;
  std::unique_ptr<QTemporaryDir> home_;
  std::unique_ptr<QProcess> process_;
  QString trace_;
};
}  // namespace stepcast::gui
