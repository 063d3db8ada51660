#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/io/json.hpp"
#include "sim/validate/table_format.hpp"
#include "sim/validate/training_scenario.hpp"

/// Collective sweeps: nccl_points.csv with its runs, and the one-node tables. One question per
/// sweep.
namespace stepcast {
namespace {

/// nccl-tests names -> ours; "" when we have none.
std::string collective_of(const std::string& name) {
  static const std::map<std::string, std::string> names{
      {"alltoall", "all_to_all"},           {"sendrecv", "send_recv"},
      {"all_to_all", "all_to_all"},         {"send_recv", "send_recv"},
      {"all_reduce", "all_reduce"},         {"all_gather", "all_gather"},
      {"reduce_scatter", "reduce_scatter"}, {"broadcast", "broadcast"}};
  const auto it = names.find(name);
  return it == names.end() ? "" : it->second;
}

struct Point {
  std::string id;
  std::int64_t bytes = 0;
  double seconds = 0;
};

/// Points sorted by size; equal sizes (repeated runs) share an item.
Question sweep_question(const std::string& table, const std::string& origin, const Json& scenario,
                        const std::string& collective, std::vector<Point> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  Question question{table, origin, CollectiveQuestion{}, {}};
  Json sizes = Json::array();
  for (const Point& point : points) {
    if (sizes.empty() || sizes.back() != point.bytes) sizes.push_back(point.bytes);
    question.measures.push_back(
        {point.id, Metric::collective_time, point.seconds, sizes.size() - 1});
  }
  Json document{{"stepcast", 1}};
  document.update(scenario);
  document["collective"] = {{"operation", collective}, {"sizes_B", sizes}};
  std::get<CollectiveQuestion>(question.what).scenario = document.dump(2);
  return question;
}

struct Sweep {
  std::string collective, reason;
  Json scenario;
};

Sweep sweep_of_run(const AssumedRow& assumed) {
  const TableRow& row = assumed.row;
  Sweep sweep{collective_of(row.text("collective")), assumed.skip, Json::parse(assumed.scenario)};
  const auto nodes = row.integer("nodes"), per_node = row.integer("gpus_per_node");
  if (!sweep.reason.empty()) return sweep;
  if (sweep.collective.empty())
    sweep.reason = "collective \"" + row.text("collective") + "\" is not modelled";
  else if (!nodes || !per_node || *nodes < 1 || *per_node < 1)
    sweep.reason = "the number of nodes or GPUs is not given";
  else if (!sweep.scenario.contains("cluster"))
    sweep.reason = "no cluster is known for accelerator \"" + row.text("accelerator") + "\"";
  if (!sweep.reason.empty()) return sweep;
  put_nodes(sweep.scenario["cluster"], *nodes, *per_node, row.text("fabric"));
  return sweep;
}
}  // namespace

Questions read_nccl_points(const CsvTable& table, const AssumptionBook& book,
                           const ReadOptions& options) {
  const std::string name(text_of(TableFormat::nccl_points));
  namespace fs = std::filesystem;
  const std::string runs_file =
      options.runs.empty() ? (fs::path(table.file()).parent_path() / "nccl_runs.csv").string()
                           : options.runs;
  const CsvTable runs = CsvTable::read(runs_file).value_or_throw();
  const AssumptionSet& set = book.set_for(name);
  std::map<std::string, Sweep> sweeps;
  for (std::size_t index = 0; index < runs.rows(); ++index) {
    TableRow row(runs, index);
    row.overwrite("interconnect", std::string(row.text("fabric")));
    const std::string log(row.text("log_id"));
    sweeps.emplace(log, sweep_of_run(assume(book, set, std::move(row))));
  }
  Questions questions;
  std::vector<std::string> order;
  std::map<std::string, std::vector<Point>> points;
  for (std::size_t index = 0; index < table.rows(); ++index) {
    const TableRow row(table, index);
    const std::string& log = row.text("log_id");
    const std::string id = log + " " + row.text("size_bytes") + " B";
    const auto bytes = row.integer("size_bytes");
    const double seconds = row.number("time_us").value_or(0) * 1e-6;
    const auto sweep = sweeps.find(log);
    std::string reason;
    if (sweep == sweeps.end())
      reason = "the sweep is not in " + fs::path(runs_file).filename().string();
    else if (!sweep->second.reason.empty())
      reason = sweep->second.reason;
    else if (!bytes || *bytes <= 0)
      reason = "a message of no bytes";
    else if (seconds <= 0)
      reason = "no time is given";
    if (!reason.empty()) {
      questions.skipped.push_back({name, id, reason});
      continue;
    }
    if (!points.contains(log)) order.push_back(log);
    points[log].push_back({id, *bytes, seconds});
  }
  for (const std::string& log : order) {
    const Sweep& sweep = sweeps.at(log);
    questions.list.push_back(sweep_question(name, table.file() + " " + log, sweep.scenario,
                                            sweep.collective, points[log]));
  }
  return questions;
}

Questions read_nccl_one_node(const CsvTable& table, const AssumptionBook& book,
                             const ReadOptions& options) {
  const std::string gpu = gpu_of(table, options);
  const std::string name = std::string(text_of(TableFormat::nccl_one_node)) + ":" + gpu;
  const AssumptionSet& set = book.set_for(name);
  Questions questions;
  std::vector<std::pair<std::string, std::string>> order;  // collective, GPUs as text
  std::map<std::pair<std::string, std::string>, std::vector<Point>> points;
  for (std::size_t index = 0; index < table.rows(); ++index) {
    const TableRow row(table, index);
    const std::string id = row.text("collective") + " " + row.text("gpus") + " GPUs " +
                           row.text("message_bytes") + " B";
    const auto bytes = row.integer("message_bytes");
    const double seconds = row.number("time_us").value_or(0) * 1e-6;
    if (!bytes || *bytes <= 0 || seconds <= 0 || !row.integer("gpus")) {
      questions.skipped.push_back({name, id, "no size, time or number of GPUs is given"});
      continue;
    }
    const std::pair<std::string, std::string> key{row.text("collective"), row.text("gpus")};
    if (!points.contains(key)) order.push_back(key);
    points[key].push_back({id, *bytes, seconds});
  }
  for (const auto& key : order) {
    TableRow row(table, 0);
    row.overwrite("accelerator", gpu);
    row.overwrite("collective", key.first);
    row.overwrite("nodes", "1");
    row.overwrite("gpus_per_node", key.second);
    const Sweep sweep = sweep_of_run(assume(book, set, std::move(row)));
    if (!sweep.reason.empty()) {
      for (const Point& point : points[key])
        questions.skipped.push_back({name, point.id, sweep.reason});
      continue;
    }
    questions.list.push_back(
        sweep_question(name, table.file(), sweep.scenario, sweep.collective, points[key]));
  }
  return questions;
}
}  // namespace stepcast
