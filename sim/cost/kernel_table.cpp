#include "sim/cost/kernel_table.hpp"

#include <fmt/format.h>

namespace stepcast {
namespace {
struct Dtype {
  std::string_view text;
  Precision precision;
};
constexpr Dtype kDtypes[] = {{"bfloat16", Precision::bf16}, {"float16", Precision::fp16},
                             {"float32", Precision::fp32},  {"tf32", Precision::tf32},
                             {"fp8", Precision::fp8},       {"int8", Precision::int8}};

/// Collects what is wrong with one row.
struct RowReader {
  const CsvTable& table;
  std::size_t row;
  Problems problems;

  std::int64_t count(const std::string& column) {
    const auto value = table.number(row, column);
    if (value && *value >= 1 && *value < 1e15) return static_cast<std::int64_t>(*value);
    complain(column, "a whole number of at least 1");
    return 1;
  }
  Seconds time_us(const std::string& column) {
    const auto value = table.number(row, column);
    if (value && *value > 0) return Seconds(*value * 1e-6);
    complain(column, "a positive time in microseconds");
    return Seconds(0);
  }
  Precision dtype(const std::string& column) {
    const std::string& text = table.text(row, column);
    for (const Dtype& known : kDtypes)
      if (known.text == text) return known.precision;
    complain(column, "one of bfloat16, float16, float32, tf32, fp8, int8");
    return Precision::bf16;
  }
  void complain(const std::string& column, const std::string& expected) {
    problems.add(
        {table.file(), fmt::format("line {}", table.line_of(row)),
         fmt::format("{} is \"{}\", expected {}", column, table.text(row, column), expected), ""});
  }
};

bool has_columns(const CsvTable& table, std::initializer_list<const char*> columns) {
  for (const char* column : columns)
    if (!table.has_column(column)) return false;
  return true;
}
}  // namespace

KernelTableKind kernel_table_kind(const CsvTable& table) {
  if (has_columns(table, {"dtype", "m", "n", "k", "time_us"})) return KernelTableKind::gemm;
  if (has_columns(table, {"batch", "sequence_length", "heads", "kv_heads", "head_dim",
                          "causal_forward_time_us"}))
    return KernelTableKind::attention_forward;
  if (has_columns(table, {"batch", "sequence_length", "heads", "head_dim", "dtype", "time_us"}))
    return KernelTableKind::attention_full_mask;
  return KernelTableKind::none;
}

Result<KernelRow> kernel_row(const CsvTable& table, KernelTableKind kind, std::size_t row) {
  RowReader reader{table, row, {}};
  KernelRow result;
  if (kind == KernelTableKind::gemm) {
    const GemmShape shape{reader.count("m"), reader.count("n"), reader.count("k"), 1, false};
    result.op.shape = shape;
    result.op.precision = reader.dtype("dtype");
    result.op.flops = Flops(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                            static_cast<double>(shape.k));
    result.measured = reader.time_us("time_us");
    result.id = fmt::format("{} m{} n{} k{}", table.text(row, "dtype"), shape.m, shape.n, shape.k);
  } else {
    STEPCAST_ASSERT(kind != KernelTableKind::none, "callers ask kernel_table_kind first");
    const bool is_causal = kind == KernelTableKind::attention_forward;
    AttentionShape shape;
    shape.batch = reader.count("batch");
    shape.query_length = shape.key_length = reader.count("sequence_length");
    shape.heads = reader.count("heads");
    shape.kv_heads = is_causal ? reader.count("kv_heads") : shape.heads;
    shape.head_dim_qk = shape.head_dim_v = reader.count("head_dim");
    shape.causal = is_causal;
    result.op.shape = shape;
    result.op.precision = is_causal ? Precision::bf16 : reader.dtype("dtype");
    result.measured = reader.time_us(is_causal ? "causal_forward_time_us" : "time_us");
    result.id = fmt::format("b{} s{} h{} kv{} d{}", shape.batch, shape.query_length, shape.heads,
                            shape.kv_heads, shape.head_dim_qk);
  }
  if (!reader.problems.empty()) return reader.problems;
  return result;
}

KernelPrediction predicted_kernel(const CostModel& model, const KernelRow& row) {
  const OpCost cost = model.cost(row.op);
  return {cost.duration, cost.relative_sigma, cost.is_extrapolated};
}
}  // namespace stepcast
