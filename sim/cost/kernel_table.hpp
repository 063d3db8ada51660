#pragma once
#include <string>

#include "sim/core/result.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/io/csv.hpp"

/// Rows of kernel micro-benchmark tables as ops, so that `validate` can put measured against
/// predicted.
namespace stepcast {

/// Columns that tell the tables apart; nullopt-like `none` where the header fits none of them.
enum class KernelTableKind { none, gemm, attention_forward, attention_full_mask };
/// gemm: dtype,m,n,k,time_us. attention_forward:
/// batch,sequence_length,heads,kv_heads,head_dim,causal_forward_time_us. attention_full_mask:
/// batch,sequence_length,heads,head_dim,dtype,time_us.
KernelTableKind kernel_table_kind(const CsvTable& table);

struct KernelRow {
  std::string id;  // "bfloat16 m4096 n12288 k4096"
  Op op;
  Seconds measured;
};
/// One row; problems name the line and the cell.
Result<KernelRow> kernel_row(const CsvTable& table, KernelTableKind kind, std::size_t row);

struct KernelPrediction {
  Seconds predicted;
  double relative_sigma = 0;
  bool is_extrapolated = false;
};
/// What the model expects of that row. Build `model` with is_burst = true for tables of isolated
/// kernels.
KernelPrediction predicted_kernel(const CostModel& model, const KernelRow& row);
}  // namespace stepcast
