#pragma once
#include <optional>
#include <string>

#include "sim/core/enum_text.hpp"
#include "sim/io/csv.hpp"
#include "sim/validate/assumptions.hpp"
#include "sim/validate/question.hpp"

namespace stepcast {
/// The kinds of table that validate reads, told apart by their header alone: a file may have any
/// name.
enum class TableFormat {
  training_runs,
  vtrain,
  simumax,
  nccl_points,
  nccl_one_node,
  gemm,
  attention_forward,
  mlperf,
  dl_examples
};
template <>
struct EnumText<TableFormat> {
  static constexpr std::array<std::pair<TableFormat, std::string_view>, 9> table{
      {{TableFormat::training_runs, "training_runs"},
       {TableFormat::vtrain, "vtrain"},
       {TableFormat::simumax, "simumax"},
       {TableFormat::nccl_points, "nccl_points"},
       {TableFormat::nccl_one_node, "nccl_one_node"},
       {TableFormat::gemm, "gemm"},
       {TableFormat::attention_forward, "attention_forward"},
       {TableFormat::mlperf, "mlperf"},
       {TableFormat::dl_examples, "dl_examples"}}};
};
/// Throws InputError naming the formats and their columns when none fits.
TableFormat format_of(const CsvTable& table);

struct ReadOptions {
  std::string table;    // only this value of the "table" column; "" = all
  std::string profile;  // GPU profile for tables that do not name one; "" = the file's folder
  std::string runs;     // nccl_runs file; "" = nccl_runs.csv beside the points
};

/// Rows -> questions. Every row becomes part of a question or a skipped row with its reason.
Questions read_questions(const CsvTable& table, const AssumptionBook& book,
                         const ReadOptions& options);

// One reader per format; read_questions picks.
Questions read_training_runs(const CsvTable& table, const AssumptionBook& book,
                             const ReadOptions& options);
Questions read_dl_examples(const CsvTable& table, const AssumptionBook& book,
                           const ReadOptions& options);
Questions read_simumax_steps(const CsvTable& table, const AssumptionBook& book);
Questions read_nccl_points(const CsvTable& table, const AssumptionBook& book,
                           const ReadOptions& options);
Questions read_nccl_one_node(const CsvTable& table, const AssumptionBook& book,
                             const ReadOptions& options);
Questions read_kernels(const CsvTable& table, TableFormat format, const ReadOptions& options);

/// The GPU a kernel or collective table was measured on: --profile, else the name of the file's
/// folder.
std::string gpu_of(const CsvTable& table, const ReadOptions& options);
}  // namespace stepcast
