#include "gui/document/rank_stages.hpp"

#include <QDir>
#include <QFileInfo>

#include "sim/io/json.hpp"

namespace stepcast::gui {
std::vector<int> rank_stages(const QStringList& trace_paths, const trace::TraceStore& store) {
  if (trace_paths.size() != 1) return {};
  const QFileInfo trace(trace_paths.front());
  const QString report =
      (trace.isDir() ? QDir(trace.filePath()) : trace.dir()).filePath("report.json");
  if (!QFileInfo::exists(report)) return {};
  const auto json = read_json_file(report.toStdString());
  if (!json || !json->is_object() || !json->contains("scenario") ||
      !(*json)["scenario"].is_object())
    return {};
  const Json& scenario = (*json)["scenario"];
  std::int64_t per_stage = 1;
  for (const char* key : {"tp", "cp", "dp"}) {
    if (!scenario.contains(key) || !scenario[key].is_number_integer()) return {};
    per_stage *= std::max<std::int64_t>(1, scenario[key].get<std::int64_t>());
  }
  std::vector<int> stages;
  for (const trace::RankInfo& rank : store.ranks())
    stages.push_back(static_cast<int>(std::max(0, rank.rank) / per_stage));
  return stages;
}
}  // namespace stepcast::gui
