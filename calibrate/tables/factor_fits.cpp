#include "calibrate/tables/factor_fits.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/robust_stats.hpp"

namespace stepcast {
namespace {
constexpr double kLeastFlops = 1e10;
/// Settled runs reuse their operands: below this the L2 cache holds them, which a layer's next
/// product finds cold.
constexpr double kLeastSettledFlops = 1e11;
/// Above this the shape tables hold nothing and a ratio to them says nothing.
constexpr double kMostSettledFlops = 2e13;
/// A median over fewer ratios than this moves by several percent with one outlier.
constexpr std::size_t kLeastRows = 5;

Op gemm_op(double m, double n, double k, double batch = 1) {
  Op op;
  const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  op.shape = GemmShape{whole(m), whole(n), whole(k), whole(batch), false};
  op.precision = Precision::bf16;
  op.flops = Flops(2 * m * n * k * batch);
  return op;
}
std::optional<Op> gemm_op_of_row(const CsvTable& table, std::size_t row) {
  const auto m = table.number(row, "m"), n = table.number(row, "n"), k = table.number(row, "k");
  if (!m || !n || !k) return std::nullopt;
  return gemm_op(*m, *n, *k, table.number(row, "batch").value_or(1));
}

/// Ratios collected by half-decade of x; medians at the middle of each.
struct Binned {
  std::map<int, std::vector<double>> bins;
  void add(double x, double ratio) {
    bins[static_cast<int>(std::floor(2 * std::log10(x)))].push_back(ratio);
  }
  FactorCurve curve(std::string name, std::string feature, std::string source, double least) const {
    FactorCurve result{std::move(name), std::move(feature), {}, std::move(source)};
    for (const auto& [bin, ratios] : bins)
      if (ratios.size() >= kLeastRows)
        result.points.emplace_back(std::pow(10.0, (bin + 0.5) / 2),
                                   std::max(least, median(ratios)));
    return result;
  }
};
}  // namespace

FactorCurve fit_sustained_from_model(const CsvTable& table, const CostModel& burst,
                                     const std::string& source) {
  Binned ratios;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto op = gemm_op_of_row(table, row);
    const auto t = table.number(row, "time_us_median");
    if (op && t && op->flops.value >= kLeastFlops)
      ratios.add(op->flops.value, *t * 1e-6 / burst.cost(*op).duration.value);
  }
  return ratios.curve("sustained/gemm", "flops", source, 1.0);
}

FactorCurve fit_sustained_settled(const CsvTable& table, const std::string& gpu,
                                  const std::string& dtype, Precision precision,
                                  const CostModel& burst, const std::string& name,
                                  const std::string& source) {
  FactorCurve curve{name, "flops", {}, source};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "gpu") != gpu || !table.text(row, "dtype").starts_with(dtype)) continue;
    auto op = gemm_op_of_row(table, row);
    const auto t = table.number(row, "time_us");
    // Slivers (an image's rows by a few channels) are another regime than a layer's products.
    if (!op || !t || op->flops.value < kLeastSettledFlops || op->flops.value > kMostSettledFlops ||
        table.number(row, "n").value_or(0) < 1024)
      continue;
    op->precision = precision;
    curve.points.emplace_back(op->flops.value, *t * 1e-6 / burst.cost(*op).duration.value);
  }
  std::sort(curve.points.begin(), curve.points.end());
  return curve;
}

FactorCurve fit_sustained_from_loop(const CsvTable& table, const CostModel& burst,
                                    const std::string& source) {
  Binned ratios;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto op = gemm_op_of_row(table, row);
    const auto t = table.number(row, "time_us");
    if (op && t && table.text(row, "layout") == "TN" && op->flops.value >= kLeastFlops)
      ratios.add(op->flops.value, *t * 1e-6 / burst.cost(*op).duration.value);
  }
  return ratios.curve("sustained/gemm", "flops", source, 1.0);
}

FactorCurve fit_layout_factor(const CsvTable& table, const CostModel& burst,
                              const std::string& layout, const std::string& name,
                              const std::string& source) {
  std::vector<double> forward, other;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto op = gemm_op_of_row(table, row);
    const auto t = table.number(row, "time_us");
    if (!op || !t || op->flops.value < kLeastFlops) continue;
    const double ratio = *t * 1e-6 / burst.cost(*op).duration.value;
    if (table.text(row, "layout") == "TN") forward.push_back(ratio);
    if (table.text(row, "layout") == layout) other.push_back(ratio);
  }
  FactorCurve curve{name, "flops", {}, source};
  if (!forward.empty() && !other.empty())
    curve.points.emplace_back(kLeastFlops, median(other) / median(forward));
  return curve;
}

FactorCurve fit_grouped_factor(const CsvTable& table, const CostModel& burst,
                               const FactorCurve& sustained, const std::string& stage,
                               const std::string& name, const std::string& source) {
  std::map<double, std::vector<double>> by_rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "stage") != stage) continue;
    const auto groups = table.number(row, "groups"), m = table.number(row, "m_per_group"),
               n = table.number(row, "n"), k = table.number(row, "k"),
               t = table.number(row, "time_us");
    if (!groups || !m || !n || !k || !t) continue;
    const Op op = gemm_op(*m, *n, *k, *groups);
    const double predicted = burst.cost(op).duration.value * sustained.at(op.flops.value);
    by_rows[std::exp2(std::round(std::log2(*m)))].push_back(*t * 1e-6 / predicted);
  }
  FactorCurve curve{name, "rows_per_group", {}, source};
  for (const auto& [rows, ratios] : by_rows) curve.points.emplace_back(rows, median(ratios));
  return curve;
}

FactorCurve fit_batched_factor(const CsvTable& table, const CostModel& burst,
                               const std::string& source) {
  std::vector<double> plain, batched;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto op = gemm_op_of_row(table, row);
    const auto t = table.number(row, "bf16_time_us");
    if (!op || !t) continue;
    (table.number(row, "batch") == 1.0 ? plain : batched)
        .push_back(*t * 1e-6 / burst.cost(*op).duration.value);
  }
  FactorCurve curve{"batched_gemm", "flops", {}, source};
  if (plain.size() >= kLeastRows && batched.size() >= kLeastRows)
    curve.points.emplace_back(kLeastFlops, std::max(1.0, median(batched) / median(plain)));
  return curve;
}

FactorCurve fit_attention_backward(const CsvTable& table, const std::string& mask,
                                   const std::string& source) {
  const auto key = [&](std::size_t row) {
    std::string text;
    for (const char* column :
         {"library", "batch", "query_length", "key_length", "heads", "kv_heads", "head_dim_qk",
          "head_dim_v", "sliding_window", "qkv_contiguous"})
      text += table.text(row, column) + "/";
    return text;
  };
  const auto is_wanted = [&](std::size_t row, const char* pass) {
    return table.text(row, "mask") == mask && table.text(row, "pass") == pass &&
           table.text(row, "dtype") == "bfloat16" && table.text(row, "deterministic") != "yes" &&
           table.text(row, "sliding_window").empty();
  };
  std::map<std::string, double> forward;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (is_wanted(row, "fwd")) forward[key(row)] = table.number(row, "time_us").value_or(0);
  std::map<double, std::vector<double>> by_length;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!is_wanted(row, "bwd")) continue;
    const auto found = forward.find(key(row));
    const auto heads = table.number(row, "heads"), batch = table.number(row, "batch"),
               length = table.number(row, "key_length"), t = table.number(row, "time_us");
    // With few heads both passes are too short to fill the device and the ratio says nothing about
    // the kernels.
    if (found == forward.end() || !heads || !batch || !length || !t || *heads * *batch < 16)
      continue;
    by_length[std::exp2(std::round(std::log2(*length)))].push_back(*t / found->second);
  }
  FactorCurve curve{"attention_backward_over_forward/" + mask, "key_length", {}, source};
  for (const auto& [length, ratios] : by_length) curve.points.emplace_back(length, median(ratios));
  return curve;
}

double fit_attention_sustained(const CsvTable& table, const CostModel& burst, double min_heads) {
  std::vector<double> ratios;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "pass") != "fwd" || table.text(row, "mask") != "causal" ||
        table.text(row, "dtype") != "bfloat16")
      continue;
    const auto number = [&](const char* column) {
      return static_cast<std::int64_t>(table.number(row, column).value_or(0));
    };
    Op op;
    AttentionShape shape{number("batch"),
                         number("heads"),
                         number("kv_heads"),
                         number("query_length"),
                         number("key_length"),
                         number("head_dim_qk"),
                         number("head_dim_v"),
                         true,
                         false};
    if (static_cast<double>(shape.batch * shape.heads) < min_heads) continue;
    op.shape = shape;
    ratios.push_back(static_cast<double>(number("time_us")) * 1e-6 / burst.cost(op).duration.value);
  }
  return ratios.empty() ? 1.0 : std::max(1.0, median(ratios));
}
}  // namespace stepcast
