#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/validate/validation_report.hpp"

/// The committed summary of errors: tests/fidelity/validate/SUMMARY.md.
namespace stepcast {
namespace {

std::string percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-";
}

std::string verdict(const Score& score, const ErrorBars& bars) {
  std::string missed;
  bool is_held_to_any = false;
  const auto check = [&](const std::optional<double>& bar, double value, const char* what,
                         bool is_least = false) {
    if (!bar || !std::isfinite(value)) return;
    is_held_to_any = true;
    if (is_least ? value < *bar : value > *bar)
      missed +=
          (missed.empty() ? "" : ", ") + (is_least ? fmt::format("{} < {:.2f}", what, *bar)
                                                   : fmt::format("{} > {}", what, percent(*bar)));
  };
  const bool is_memory = score.metric == Metric::peak_memory;
  check(is_memory ? bars.memory_mape : bars.mape, score.mape, "MAPE");
  if (!is_memory) {
    check(bars.median_error, score.median_error, "median");
    check(bars.bias, std::abs(score.bias), "bias");
    check(bars.rank_correlation, score.rank_correlation, "rank", true);
  }
  if (!is_held_to_any) return "";
  return missed.empty() ? "met" : "missed: " + missed;
}

std::string quantity(double value, Metric metric) {
  if (metric == Metric::peak_memory) return fmt::format("{:.2f} GiB", value / 1073741824.0);
  if (value >= 1) return fmt::format("{:.2f} s", value);
  if (value >= 1e-3) return fmt::format("{:.2f} ms", value * 1e3);
  return fmt::format("{:.2f} us", value * 1e6);
}
}  // namespace

std::string validation_markdown(const Scores& scores, const AssumptionBook& book, int worst) {
  std::string out =
      "error = (predicted - measured) / measured; bias below 0: predicted too fast; cover 90: "
      "share of measurements inside the\n"
      "predicted 90 % interval.\n\n"
      "| table | metric | rows | MAPE | median | bias | p95 | rank | cover 90 | bar "
      "|\n|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n";
  for (const Score& s : scores.by_table)
    out += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", s.table, name_of(s.metric), s.rows,
        percent(s.mape), percent(s.median_error), percent(s.bias), percent(s.p95_error),
        std::isfinite(s.rank_correlation) ? fmt::format("{:.2f}", s.rank_correlation) : "-",
        percent(s.coverage_90), verdict(s, book.set_for(s.table).bars));
  std::vector<std::string> assumed;
  for (const Score& s : scores.by_table) {
    out += fmt::format("\n## {}, {}\n\n", s.table, name_of(s.metric));
    const AssumptionSet& set = book.set_for(s.table);
    if (std::find(assumed.begin(), assumed.end(), set.name) == assumed.end()) {
      assumed.push_back(set.name);
      out += fmt::format("Assumed (scenarios/validation/{}.json):\n\n", set.name);
      for (const std::string& statement : statements_of(set))
        out += fmt::format("- {}\n", statement);
      out += "\n";
    }
    std::vector<const ScoredRow*> rows;
    for (const ScoredRow& row : scores.rows)
      if (row.table == s.table && row.metric == s.metric) rows.push_back(&row);
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return std::abs(a->error) > std::abs(b->error);
    });
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(std::max(worst, 0))));
    if (!rows.empty())
      out += "| worst row | measured | predicted | error |\n|---|---:|---:|---:|\n";
    for (const ScoredRow* row : rows)
      out += fmt::format("| {}{} | {} | {} | {:+.1f} % |\n", row->id,
                         row->note.empty() ? "" : " (" + row->note + ")",
                         quantity(row->measured, s.metric), quantity(row->predicted, s.metric),
                         100 * row->error);
  }
  if (!scores.skipped.empty())
    out += "\n## Rows left out\n\n| rows | table | reason |\n|---:|---|---|\n";
  for (const SkipCount& skip : scores.skipped)
    out += fmt::format("| {} | {} | {} |\n", skip.count, skip.table, skip.reason);
  return out;
}
}  // namespace stepcast
