#include "sim/validate/table_format.hpp"

#include <algorithm>
#include <filesystem>

namespace stepcast {
namespace {
struct FormatColumns {
  TableFormat format;
  std::vector<std::string> columns;  // all of them must be there
};
// First match wins, so the more telling headers stand first.
const std::vector<FormatColumns>& known_formats() {
  static const std::vector<FormatColumns> formats{
      {TableFormat::training_runs,
       {"row_id", "table", "accelerator", "n_accel", "model", "gbs", "step_time_s"}},
      {TableFormat::mlperf,
       {"system", "benchmark", "accelerator", "n_accel", "global_batch", "step_time_s"}},
      {TableFormat::simumax, {"case", "model", "layers", "micro_batch_count", "measured_step_ms"}},
      {TableFormat::vtrain,
       {"gpus", "global_batch", "micro_batch", "hidden", "heads", "layers", "tp", "dp", "pp",
        "iteration_time_ms"}},
      {TableFormat::nccl_points, {"log_id", "size_bytes", "time_us"}},
      {TableFormat::nccl_one_node, {"collective", "gpus", "message_bytes", "time_us"}},
      {TableFormat::dl_examples, {"model", "system", "section", "fields"}},
      {TableFormat::gemm, {"dtype", "m", "n", "k", "time_us"}},
      {TableFormat::attention_forward,
       {"batch", "sequence_length", "heads", "kv_heads", "head_dim", "causal_forward_time_us"}}};
  return formats;
}
}  // namespace

TableFormat format_of(const CsvTable& table) {
  for (const auto& [format, columns] : known_formats())
    if (std::all_of(columns.begin(), columns.end(),
                    [&](const auto& c) { return table.has_column(c); }))
      return format;
  std::string known;
  for (const auto& [format, columns] : known_formats())
    known += "\n  " + std::string(text_of(format)) + ": " + joined(columns);
  throw InputError(Problem{table.file(), "line 1",
                           "these columns fit no known table: " + joined(table.header()),
                           "columns that must be there, by table:" + known});
}

Questions read_questions(const CsvTable& table, const AssumptionBook& book,
                         const ReadOptions& options) {
  const TableFormat format = format_of(table);
  switch (format) {
    case TableFormat::training_runs:
    case TableFormat::vtrain:
    case TableFormat::mlperf:
      return read_training_runs(table, book, options);
    case TableFormat::dl_examples:
      return read_dl_examples(table, book, options);
    case TableFormat::simumax:
      return read_simumax_steps(table, book);
    case TableFormat::nccl_points:
      return read_nccl_points(table, book, options);
    case TableFormat::nccl_one_node:
      return read_nccl_one_node(table, book, options);
    case TableFormat::gemm:
    case TableFormat::attention_forward:
      return read_kernels(table, format, options);
  }
  return {};
}

std::string gpu_of(const CsvTable& table, const ReadOptions& options) {
  if (!options.profile.empty()) return options.profile;
  return std::filesystem::absolute(table.file()).parent_path().filename().string();
}
}  // namespace stepcast
