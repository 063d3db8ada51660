#pragma once
#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>
#include <map>
#include <memory>
#include <vector>

namespace stepcast::gui {
enum class RunState { queued, running, done, failed, stopped };

/// One simulation or sweep: what was asked, how it ended and the figures it gave. Inputs and
/// version are kept for repeating it.
struct SimulationRun {
  int id = 0;
  bool is_sweep = false;
  QString scenario, label, folder;  // folder: report.json and trace.json.gz, or sweep.csv
  QStringList settings;             // --set texts
  QStringList vary;                 // --vary texts of a sweep
  int detail = 8;                   // workers whose trace shows every op
  RunState state = RunState::queued;
  QString message;                     // why it failed, as stepcast said it
  double seconds = 0;                  // wall
  double progress = -1;                // 0..1; below 0: unknown
  std::map<QString, double> figures;   // step_time_s, tokens_per_s ..., by report key
  std::map<QString, QString> learned;  // values the simulator filled in, by pointer
  QString version;
};

/// Runs `stepcast` one process after the other, away from the window.
class SimulationQueue : public QObject {
  Q_OBJECT
 public:
  explicit SimulationQueue(QObject* parent = nullptr);
  ~SimulationQueue() override;
  /// The simulator: $STEPCAST, else beside the viewer, else the build tree, else the PATH; "" when
  /// there is none.
  static QString find_program();
  const QString& program() const { return program_; }
  void set_folder(const QString& folder) { folder_ = folder; }
  const QString& folder() const { return folder_; }

  int add(SimulationRun run);
  /// A run that ended in an earlier session: reads its report again.
  int add_finished(SimulationRun run);
  void stop_all();
  void remove(int id);
  const std::vector<SimulationRun>& runs() const { return runs_; }
  const SimulationRun* find(int id) const;
  bool is_running() const { return process_ != nullptr; }
  /// The command line of a run, for repeating it in a terminal.
  QString command_of(const SimulationRun& run) const;

 signals:
  void changed(int id);
  void finished(int id);

 private:
  void start_next();
  void end(RunState state, const QString& message);
  QStringList arguments_of(const SimulationRun& run) const;
  void read_report(SimulationRun& run) const;
  void look_at_progress();
  SimulationRun* running();
  QString program_, folder_;
  std::vector<SimulationRun> runs_;
  std::unique_ptr<QProcess> process_;
  QElapsedTimer watch_;
  QTimer poll_;
  int next_id_ = 1, running_id_ = 0;
};
/// Points of a --vary list; 0 where the text cannot be counted here.
int points_of(const QStringList& vary);
}  // namespace stepcast::gui
