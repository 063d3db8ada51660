#include "gui/document/trace_import.hpp"

#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <algorithm>
#include <utility>

#include "gui/document/simulation_queue.hpp"
#include "sim/io/json.hpp"
#include "sim/timeline/read/open_trace.hpp"

namespace stepcast::gui {
namespace {
constexpr int kPatienceMs = 2000;  // for a killed process to be gone

/// Entries as `stepcast import --json` prints them.
void take_anomalies(const Json& list, Anomalies& into) {
  if (!list.is_array()) return;
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    const Json places = entry.value("places", Json::array());
    into.add(
        entry.value("name", std::string("unnamed")),
        enum_from_text<Severity>(entry.value("severity", std::string("warning")))
            .value_or(Severity::warning),
        entry.value("advice", std::string()),
        places.empty() || !places[0].is_string() ? std::string() : places[0].get<std::string>(),
        entry.value("count", std::int64_t{1}));
  }
}
Anomalies anomalies_in(const QByteArray& output) {
  Anomalies found;
  const Json document = Json::parse(output.constData(), output.constData() + output.size(), nullptr,
                                    false);  // no exceptions: what is no JSON tells nothing
  try {
    take_anomalies(document.at("anomalies"), found);
    for (const Json& trace : document.at("traces")) take_anomalies(trace.at("anomalies"), found);
  } catch (const Json::exception& e) {
    found.add("import_report_unread", Severity::warning,
              "what stepcast import met cannot be read; run it in a terminal", e.what());
  }
  return found;
}
}  // namespace

TraceImport::TraceImport(QObject* parent) : QObject(parent) {}
TraceImport::~TraceImport() { stop(); }

bool TraceImport::is_needed(const QStringList& paths) {
  return !paths.isEmpty() && std::all_of(paths.begin(), paths.end(), [](const QString& path) {
    return QFileInfo::exists(path) && !trace::is_openable(path.toStdString());
  });
}

void TraceImport::start(const QStringList& paths, std::function<void(const Answer&)> done) {
  stop();
  const QString program = SimulationQueue::find_program();
  if (program.isEmpty()) {
    done({"",
          paths.front() +
              ": is no trace that the viewer reads itself, and the stepcast program that imports "
              "others was not found; set STEPCAST to its path",
          {}});
    return;
  }
  home_ = std::make_unique<QTemporaryDir>();
  trace_ = QDir(home_->path()).filePath(QFileInfo(paths.front()).fileName() + ".json.gz");
  process_ = std::make_unique<QProcess>();
  const auto end = [this, done = std::move(done)] {
    if (!process_) return;
    const Answer answer = answer_of(*process_);
    process_.release()->deleteLater();  // it is the sender
    done(answer);
  };
  connect(process_.get(), &QProcess::finished, this, end);
  connect(process_.get(), &QProcess::errorOccurred, this, [end](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) end();
  });
  QStringList arguments{"import"};
  for (const QString& path : paths) arguments << QFileInfo(path).absoluteFilePath();
  process_->start(program, arguments + QStringList{"-o", trace_, "--json"});
}

TraceImport::Answer TraceImport::answer_of(QProcess& process) const {
  Answer answer;
  if (process.error() == QProcess::FailedToStart)
    answer.problem = process.program() + " cannot be started: " + process.errorString();
  else if (process.exitStatus() != QProcess::NormalExit || process.exitCode() != 0)
    answer.problem = QString::fromUtf8(process.readAllStandardError()).trimmed();
  else
    answer.trace = trace_;
  if (answer.trace.isEmpty() && answer.problem.isEmpty())
    answer.problem = "stepcast import ended without a word; run it in a terminal";
  if (!answer.trace.isEmpty()) answer.anomalies = anomalies_in(process.readAllStandardOutput());
  return answer;
}

void TraceImport::stop() {
  if (process_) {
    process_->disconnect(this);
    process_->kill();
    process_->waitForFinished(kPatienceMs);
    process_.reset();
  }
  home_.reset();
}
}  // namespace stepcast::gui
