#include "gui/document/simulation_queue.hpp"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>
#include <algorithm>
#include <cmath>

#include "sim/io/json.hpp"

namespace stepcast::gui {
namespace {
constexpr int kPollMs = 200;       // how often progress is looked at
constexpr int kPatienceMs = 2000;  // between asking a simulation to end and ending it

const Json* member(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? &object[key] : nullptr;
}
void take(std::map<QString, double>& into, const QString& name, const Json* value) {
  if (value != nullptr && value->is_number()) into[name] = value->get<double>();
}
}  // namespace

int points_of(const QStringList& vary) {
  int points = 1;
  for (const QString& axis : vary) {
    const QString values = axis.section('=', 1);
    if (const qsizetype dots = values.indexOf(".."); dots > 0) {
      const QStringList ends = values.split("..");
      const double low = ends[0].toDouble();
      const QStringList high = ends[1].split('*');
      const double top = high[0].toDouble(), factor = high.size() > 1 ? high[1].toDouble() : 0;
      int count = 0;
      if (factor > 1)
        for (double v = low; v <= top * (1 + 1e-12) && v > 0; v *= factor) ++count;
      else
        count = std::max(0, static_cast<int>(top - low) + 1);
      points *= std::max(1, count);
    } else {
      points *= static_cast<int>(values.count(',')) + 1;
    }
  }
  return points;
}

SimulationQueue::SimulationQueue(QObject* parent) : QObject(parent), program_(find_program()) {
  folder_ = QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + "/runs";
  poll_.setInterval(kPollMs);
  connect(&poll_, &QTimer::timeout, this, &SimulationQueue::look_at_progress);
}
SimulationQueue::~SimulationQueue() {
  if (!process_) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(kPatienceMs);
}

QString SimulationQueue::find_program() {
  const QString own = qEnvironmentVariable("STEPCAST");
  if (!own.isEmpty() && QFileInfo(own).isExecutable()) return own;
  const QDir here(QCoreApplication::applicationDirPath());
  for (const char* path :
       {"stepcast", "../sim/cli/stepcast", "../../sim/cli/stepcast", "../../../sim/cli/stepcast"})
    if (const QFileInfo file(here.filePath(path)); file.isExecutable() && file.isFile())
      return file.canonicalFilePath();
  return QStandardPaths::findExecutable("stepcast");
}

const SimulationRun* SimulationQueue::find(int id) const {
  for (const SimulationRun& run : runs_)
    if (run.id == id) return &run;
  return nullptr;
}
SimulationRun* SimulationQueue::running() {
  for (SimulationRun& run : runs_)
    if (run.id == running_id_ && run.state == RunState::running) return &run;
  return nullptr;
}

int SimulationQueue::add(SimulationRun run) {
  run.id = next_id_++;
  run.state = RunState::queued;
  run.folder = folder_ + QString("/%1-%2")
                             .arg(QDateTime::currentDateTime().toString("yyyyMMdd-HHmmss-zzz"))
                             .arg(run.id);
  runs_.push_back(std::move(run));
  const int id = runs_.back().id;
  emit changed(id);
  start_next();
  return id;
}

int SimulationQueue::add_finished(SimulationRun run) {
  run.id = next_id_++;
  run.state = RunState::done;
  read_report(run);
  if (!run.is_sweep && run.figures.empty()) {
    run.state = RunState::failed;
    run.message = "its report.json is gone; run it again";
  }
  runs_.push_back(std::move(run));
  emit changed(runs_.back().id);
  return runs_.back().id;
}

QStringList SimulationQueue::arguments_of(const SimulationRun& run) const {
  QStringList a{run.is_sweep ? "sweep" : "simulate", run.scenario};
  for (const QString& setting : run.settings) a << "--set" << setting;
  if (run.is_sweep) {
    for (const QString& axis : run.vary) a << "--vary" << axis;
    a << "-o" << run.folder + "/sweep.csv"
      << "--json";
  } else {
    a << "-o" << run.folder << "--detail" << QString::number(run.detail) << "--json";
  }
  return a;
}
QString SimulationQueue::command_of(const SimulationRun& run) const {
  QStringList parts{"stepcast"};
  for (const QString& a : arguments_of(run))
    parts << (a.contains(QRegularExpression("[^A-Za-z0-9_./=,:*-]"))
                  ? "'" + QString(a).replace("'", "'\\''") + "'"
                  : a);
  return parts.join(' ');
}

void SimulationQueue::start_next() {
  if (process_) return;
  const auto next = std::find_if(runs_.begin(), runs_.end(), [](const SimulationRun& run) {
    return run.state == RunState::queued;
  });
  if (next == runs_.end()) return;
  next->state = RunState::running;
  running_id_ = next->id;
  watch_.start();
  if (program_.isEmpty()) {
    end(RunState::failed,
        "The program stepcast was not found: set STEPCAST to its path, or put it beside "
        "stepcast-viewer");
    return;
  }
  QDir().mkpath(next->folder);
  process_ = std::make_unique<QProcess>();
  connect(process_.get(), &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    const QString said = QString::fromUtf8(process_->readAllStandardError()).trimmed();
    if (status == QProcess::CrashExit)
      end(RunState::failed, "stepcast ended abnormally\n" + said);
    else if (code != 0)
      end(RunState::failed,
          said.isEmpty() ? QString("stepcast ended with code %1").arg(code) : said);
    else
      end(RunState::done, said);
  });
  connect(process_.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      end(RunState::failed, program_ + " cannot be started: " + process_->errorString());
  });
  process_->start(program_, arguments_of(*next));
  poll_.start();
  emit changed(running_id_);
}

void SimulationQueue::look_at_progress() {
  SimulationRun* run = running();
  if (run == nullptr) return;
  run->seconds = static_cast<double>(watch_.elapsed()) * 1e-3;
  if (run->is_sweep) {
    QFile table(run->folder + "/sweep.csv");
    const int points = points_of(run->vary);
    // The sweep appends one line a point behind its header.
    if (table.open(QIODevice::ReadOnly) && points > 0)
      run->progress = std::min(
          1.0,
          static_cast<double>(std::max<qsizetype>(0, table.readAll().count('\n') - 1)) / points);
  }
  emit changed(run->id);
}

void SimulationQueue::end(RunState state, const QString& message) {
  poll_.stop();
  if (process_) {
    process_->disconnect(this);
    process_.release()->deleteLater();  // this may run inside its signal
  }
  SimulationRun* run = running();
  if (run == nullptr) return;
  run->seconds = static_cast<double>(watch_.elapsed()) * 1e-3;
  run->state = state;
  run->message = message;
  run->progress = state == RunState::done ? 1 : run->progress;
  if (state == RunState::done) read_report(*run);
  const int id = run->id;
  running_id_ = 0;
  emit changed(id);
  emit finished(id);
  start_next();
}

void SimulationQueue::stop_all() {
  for (SimulationRun& run : runs_)
    if (run.state == RunState::queued) {
      run.state = RunState::stopped;
      emit changed(run.id);
    }
  if (!process_) return;
  QProcess* process = process_.get();
  process->terminate();
  if (!process->waitForFinished(100)) process->kill();
  if (process_)
    end(RunState::stopped, "stopped");
  else
    for (SimulationRun& run : runs_)
      if (run.state == RunState::failed && run.message.startsWith("stepcast ended abnormally"))
        run.state = RunState::stopped;
}

void SimulationQueue::remove(int id) {
  if (id == running_id_) stop_all();
  runs_.erase(std::remove_if(runs_.begin(), runs_.end(),
                             [id](const SimulationRun& run) { return run.id == id; }),
              runs_.end());
  emit changed(id);
}

void SimulationQueue::read_report(SimulationRun& run) const {
  if (run.is_sweep) return;
  const auto read = read_json_file((run.folder + "/report.json").toStdString());
  if (!read || !read->is_object()) return;
  const Json& r = *read;
  if (const Json* step = member(r, "step_time_s"))
    for (const char* q : {"p05", "p50", "p95"})
      take(run.figures, QString("step_time_s.") + q, member(*step, q));
  if (const Json* parts = member(r, "breakdown_s"))
    for (const auto& [category, value] : parts->items())
      take(run.figures, "breakdown_s." + QString::fromStdString(category), &value);
  for (const char* key :
       {"tokens_per_s", "samples_per_s", "model_flops_utilization", "hardware_flops_utilization"})
    take(run.figures, key, member(r, key));
  if (const Json* memory = member(r, "memory_GiB"))
    take(run.figures, "memory_GiB.worst", member(*memory, "worst"));
  if (const Json* money = member(r, "money"))
    take(run.figures, "usd_per_step", member(*money, "usd_per_step"));
  if (const Json* scenario = member(r, "scenario")) {
    take(run.figures, "gpus", member(*scenario, "gpus"));
    for (const auto& [key, pointer] : {std::pair{"dp", "/parallel/dp"},
                                       {"global_batch", "/training/global_batch"},
                                       {"sequence_length", "/training/sequence_length"}})
      if (const Json* value = member(*scenario, key))
        run.learned[pointer] = QString::fromStdString(value->dump());
  }
  if (const Json* provenance = member(r, "provenance"))
    if (const Json* version = member(*provenance, "version");
        version != nullptr && version->is_string())
      run.version = QString::fromStdString(version->get<std::string>());
  if (const Json* warnings = member(r, "warnings"))
    for (const Json& w : *warnings)
      if (w.is_string())
        run.message +=
            (run.message.isEmpty() ? "" : "\n") + QString::fromStdString(w.get<std::string>());
}
}  // namespace stepcast::gui
