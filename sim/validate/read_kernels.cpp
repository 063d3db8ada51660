#include <algorithm>

#include "sim/timeline/op_names.hpp"
#include "sim/validate/table_format.hpp"

/// Kernel tables: one GEMM or one causal flash attention forward a row, asked of the cost model at
/// burst speed.
namespace stepcast {
namespace {

constexpr std::size_t kOpsPerQuestion =
    512;  // a chunk big enough to pay for handing it to a worker process

std::optional<Precision> precision_of_dtype(const std::string& dtype) {
  static const std::pair<const char*, Precision> names[]{
      {"bfloat16", Precision::bf16}, {"bf16", Precision::bf16},    {"float16", Precision::fp16},
      {"fp16", Precision::fp16},     {"half", Precision::fp16},    {"fp8", Precision::fp8},
      {"float8", Precision::fp8},    {"float32", Precision::fp32}, {"tf32", Precision::tf32},
      {"int8", Precision::int8}};
  for (const auto& [text, precision] : names)
    if (dtype.starts_with(text)) return precision;
  return std::nullopt;
}

struct TimedOp {
  std::optional<Op> op;
  std::string id, reason;
  double seconds = 0;
};

TimedOp gemm_of(const TableRow& row) {
  TimedOp timed;
  const auto m = row.integer("m"), n = row.integer("n"), k = row.integer("k");
  const auto precision = precision_of_dtype(row.text("dtype"));
  timed.id = row.text("dtype") + " " + row.text("m") + "x" + row.text("n") + "x" + row.text("k");
  timed.seconds = row.number("time_us").value_or(0) * 1e-6;
  if (!m || !n || !k || *m <= 0 || *n <= 0 || *k <= 0)
    timed.reason = "m, n, k are not positive whole numbers";
  else if (!precision)
    timed.reason = "dtype \"" + row.text("dtype") + "\" is not known";
  else {
    Op op;
    op.name = op::fc;
    op.precision = *precision;
    op.shape = GemmShape{*m, *n, *k, 1, false};
    op.flops =
        Flops(2.0 * static_cast<double>(*m) * static_cast<double>(*n) * static_cast<double>(*k));
    timed.op = op;
  }
  return timed;
}

TimedOp attention_of(const TableRow& row) {
  TimedOp timed;
  const auto batch = row.integer("batch"), length = row.integer("sequence_length"),
             heads = row.integer("heads");
  const auto kv_heads = row.integer("kv_heads"), dim = row.integer("head_dim");
  timed.id = "b" + row.text("batch") + " s" + row.text("sequence_length") + " h" +
             row.text("heads") + "/" + row.text("kv_heads") + " d" + row.text("head_dim");
  timed.seconds = row.number("causal_forward_time_us").value_or(0) * 1e-6;
  if (!batch || !length || !heads || !kv_heads || !dim ||
      std::min({*batch, *length, *heads, *kv_heads, *dim}) <= 0) {
    timed.reason = "the attention shape is not whole and positive";
    return timed;
  }
  Op op;
  op.name = op::attention;
  op.precision = Precision::bf16;
  op.shape = AttentionShape{*batch, *heads, *kv_heads, *length, *length, *dim, *dim, true, false};
  // 4 b h s^2 d for the two products, half of it under a causal mask.
  op.flops = Flops(2.0 * static_cast<double>(*batch * *heads) * static_cast<double>(*length) *
                   static_cast<double>(*length) * static_cast<double>(*dim));
  timed.op = op;
  return timed;
}
}  // namespace

Questions read_kernels(const CsvTable& table, TableFormat format, const ReadOptions& options) {
  const std::string gpu = gpu_of(table, options);
  const std::string name = std::string(text_of(format)) + ":" + gpu;
  Questions questions;
  for (std::size_t index = 0; index < table.rows(); ++index) {
    const TableRow row(table, index);
    TimedOp timed = format == TableFormat::gemm ? gemm_of(row) : attention_of(row);
    if (timed.reason.empty() && timed.seconds <= 0) timed.reason = "no time is given";
    if (!timed.reason.empty()) {
      questions.skipped.push_back({name, timed.id, timed.reason});
      continue;
    }
    if (questions.list.empty() || questions.list.back().measures.size() == kOpsPerQuestion)
      questions.list.push_back({name, table.file(), KernelQuestion{gpu, {}}, {}});
    Question& question = questions.list.back();
    auto& ops = std::get<KernelQuestion>(question.what).ops;
    question.measures.push_back({timed.id, Metric::kernel_time, timed.seconds, ops.size()});
    ops.push_back(*timed.op);
  }
  return questions;
}
}  // namespace stepcast
