#include "gui/document/trace_document.hpp"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QPointer>
#include <algorithm>
#include <thread>

namespace stepcast::gui {
namespace {
int worker_threads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
}
}  // namespace

TraceDocument::TraceDocument(QObject* parent) : QObject(parent) {}

QString TraceDocument::title() const {
  if (paths_.isEmpty()) return is_open() ? "trace" : "";
  if (paths_.size() > 1)
    return QFileInfo(paths_.front()).fileName() + QString(" and %1 more").arg(paths_.size() - 1);
  const QFileInfo info(paths_.front());
  // Every simulation writes "trace.json.gz": its folder names it.
  const QString name = info.fileName();
  return name.startsWith("trace.json") ? info.absoluteDir().dirName() + "/" + name : name;
}

void TraceDocument::open(const QStringList& paths, const QString& cache_folder) {
  close();
  paths_ = paths;
  is_loading_ = true;
  if (!TraceImport::is_needed(paths)) {
    read(paths, cache_folder, {});
    return;
  }
  emit progressed(-1, "stepcast import reads " + QFileInfo(paths.front()).fileName());
  importing_.start(paths, [this](const TraceImport::Answer& answer) {
    if (!answer.trace.isEmpty()) {
      read({answer.trace}, {}, answer.anomalies);  // the file is gone tomorrow: no cache of it
      return;
    }
    is_loading_ = false;
    emit failed(answer.problem);
  });
}

void TraceDocument::read(const QStringList& files_to_read, const QString& cache_folder,
                         const Anomalies& imported) {
  reading_stop_ = std::stop_source();
  trace::OpenOptions options;
  options.threads = worker_threads();
  options.cache_folder = cache_folder.toStdString();
  options.stop = reading_stop_.get_token();
  // The document outlives its answers: close() and the destructor stop the reading, and queued
  // calls to a dead object are dropped.
  const std::stop_token stop = options.stop;
  const QPointer<TraceDocument> self(this);
  options.on_progress = [self, stop](const trace::OpenProgress& p) {
    const double share =
        p.total_bytes > 0 ? static_cast<double>(p.bytes) / static_cast<double>(p.total_bytes) : -1;
    QString doing = QString::fromStdString(p.doing);
    if (p.events > 0) doing += QString(", %L1 events").arg(p.events);
    if (p.total_files > 1) doing += QString(", file %1 of %2").arg(p.files).arg(p.total_files);
    QMetaObject::invokeMethod(
        qApp,
        [self, stop, share, doing] {
          if (self && self->is_loading_ && !stop.stop_requested())
            emit self->progressed(share, doing);
        },
        Qt::QueuedConnection);
  };
  options.on_partial = [self, stop](trace::TracePtr partial) {
    QMetaObject::invokeMethod(
        qApp,
        [self, stop, partial] {
          if (self && self->is_loading_ && !stop.stop_requested()) self->show(partial, false);
        },
        Qt::QueuedConnection);
  };
  std::vector<std::string> files;
  for (const QString& path : files_to_read) files.push_back(path.toStdString());
  emit progressed(-1, "opening");
  reading_.start([files, options](std::stop_token) { return trace::open_trace(files, options); },
                 [this, imported](trace::OpenResult result) {
                   is_loading_ = false;
                   report_ = std::move(result.report);
                   report_.anomalies.add(imported);
                   show(std::move(result.trace), true);
                 },
                 [this](const QString& problem) {
                   is_loading_ = false;
                   emit failed(problem);
                 });
}

void TraceDocument::cancel() {
  // Only the reader's own token: it answers with what was read, and that answer is wanted.
  reading_stop_.request_stop();
  if (!importing_.is_running()) return;
  importing_.stop();
  is_loading_ = false;
  emit failed("Importing was stopped; nothing was read of " + paths_.join(", "));
}

void TraceDocument::close() {
  reading_stop_.request_stop();
  importing_.stop();
  reading_.stop();
  deriving_.stop();
  is_loading_ = false;
  facts_ = {};
  report_ = {};
  paths_.clear();
}

void TraceDocument::show(trace::TracePtr trace, bool is_final) {
  deriving_.stop();
  facts_ = {};
  facts_.trace = std::move(trace);
  emit trace_changed(is_final);
  if (is_final) derive();
}

void TraceDocument::derive() {
  // Cheapest and most visible first; each stage is published when it is ready.
  using Stage = std::function<void(TraceFacts&, std::stop_token)>;
  static const std::vector<Stage> stages{
      [](TraceFacts& f, std::stop_token stop) {
        f.states = std::make_shared<trace::LodPyramid>(f.trace, trace::state_rows(*f.trace), stop,
                                                       worker_threads());
        f.steps = std::make_shared<trace::Steps>(trace::find_steps(*f.trace));
      },
      [](TraceFacts& f, std::stop_token) {
        f.matrix = std::make_shared<trace::StepMatrix>(trace::step_matrix(*f.trace, *f.steps));
        f.runs =
            std::make_shared<std::vector<trace::CollectiveRun>>(trace::collective_runs(*f.trace));
      },
      [](TraceFacts& f, std::stop_token stop) {
        f.ranks = std::make_shared<std::vector<trace::RankStatistics>>(trace::rank_statistics(
            *f.trace, trace::Area::all(*f.trace), *f.steps, *f.matrix, *f.runs, stop));
        f.critical = std::make_shared<trace::CriticalPath>(
            trace::critical_path(*f.trace, *f.runs, f.trace->begin(), f.trace->end(), stop));
      },
      [](TraceFacts& f, std::stop_token stop) {
        f.ops = std::make_shared<std::vector<trace::OpStatistics>>(
            trace::op_statistics(*f.trace, trace::Area::all(*f.trace), nullptr, stop));
        f.lanes = std::make_shared<trace::LodPyramid>(f.trace, trace::lane_rows(*f.trace), stop,
                                                      worker_threads());
      }};
  struct Next {
    static void run(TraceDocument* self, std::size_t stage) {
      self->deriving_.start(
          [stage, facts = self->facts_](std::stop_token stop) mutable {
            stages[stage](facts, stop);
            return facts;
          },
          [self, stage](TraceFacts facts) {
            self->facts_ = std::move(facts);
            emit self->facts_changed();
            if (stage + 1 < stages.size())
              run(self, stage + 1);
            else
              emit self->finished();
          },
          [self](const QString& problem) {
            emit self->failed("Figures could not be derived: " + problem);
          });
    }
  };
  if (facts_.trace->slices() == 0) {
    emit finished();
    return;
  }
  Next::run(this, 0);
}
}  // namespace stepcast::gui
