#include <fmt/format.h>

#include "sim/validate/table_format.hpp"
#include "sim/validate/training_scenario.hpp"

/// training_runs.csv, and the tables whose columns are the same things under other names (vTrain,
/// MLPerf).
namespace stepcast {
namespace {

using Renamed = std::vector<std::pair<const char*, const char*>>;  // ours, theirs

TableRow in_our_columns(const CsvTable& table, std::size_t index, TableFormat format) {
  TableRow row(table, index);
  const auto copy = [&](const Renamed& columns) {
    for (const auto& [ours, theirs] : columns) row.overwrite(ours, std::string(row.text(theirs)));
  };
  if (format == TableFormat::vtrain) {
    copy({{"n_accel", "gpus"},
          {"gbs", "global_batch"},
          {"mbs", "micro_batch"},
          {"seq_len", "sequence_length"}});
    if (const auto ms = row.number("iteration_time_ms"))
      row.overwrite("step_time_s", fmt::format("{:.9g}", *ms / 1e3));
  }
  if (format == TableFormat::mlperf)
    copy({{"gbs", "global_batch"}, {"model", "benchmark"}, {"interconnect", "network"}});
  return row;
}

/// The table a row belongs to. vTrain published two, told apart by the column that only the
/// multi-node one has.
std::string table_name(const CsvTable& table, const TableRow& row, TableFormat format) {
  if (format == TableFormat::training_runs) return row.text("table");
  if (format == TableFormat::vtrain)
    return table.has_column("parameters_billion") ? "vtrain_multi" : "vtrain_single";
  return std::string(text_of(format));
}

std::string id_of(const TableRow& row, TableFormat format) {
  if (format == TableFormat::training_runs) return row.text("row_id");
  if (format == TableFormat::mlperf)
    return fmt::format("{}/{}/{} n{} line {}", row.text("org"), row.text("system"),
                       row.text("benchmark"), row.text("n_accel"), row.line());
  return fmt::format("line {}: {} GPUs h{} l{} t{} d{} p{} mbs{} gbs{}", row.line(),
                     row.text("gpus"), row.text("hidden"), row.text("layers"), row.text("tp"),
                     row.text("dp"), row.text("pp"), row.text("mbs"), row.text("gbs"));
}
}  // namespace

Questions read_training_runs(const CsvTable& table, const AssumptionBook& book,
                             const ReadOptions& options) {
  const TableFormat format = format_of(table);
  Questions questions;
  for (std::size_t index = 0; index < table.rows(); ++index) {
    const TableRow row = in_our_columns(table, index, format);
    const std::string name = table_name(table, row, format);
    if (!options.table.empty() && name != options.table) continue;
    const AssumptionSet& set = book.set_for(name);
    add_step(name, id_of(row, format), assume(book, set, row), set, questions);
  }
  return questions;
}
}  // namespace stepcast
