#include "sim/validate/validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/io/json.hpp"

namespace stepcast {

const char* name_of(Metric metric) {
  switch (metric) {
    case Metric::step_time:
      return "step time";
    case Metric::peak_memory:
      return "peak memory";
    case Metric::collective_time:
      return "collective time";
    case Metric::kernel_time:
      return "kernel time";
  }
  return "?";
}

namespace {

/// JSON has no NaN: an undefined figure is null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

void put_figures(Json& out, const Score& score) {
  out["count"] = score.rows;
  out["mape"] = number(score.mape);
  out["median_error"] = number(score.median_error);
  out["bias"] = number(score.bias);
  out["p95_error"] = number(score.p95_error);
  out["rank_correlation"] = number(score.rank_correlation);
  out["coverage_90"] = number(score.coverage_90);
}

Json row_json(const ScoredRow& row) {
  const char* unit = row.metric == Metric::peak_memory ? "bytes" : "s";
  Json out{{"id", row.id}, {"table", row.table}};
  out[fmt::format("measured_{}", unit)] = row.measured;
  out[fmt::format("predicted_{}", unit)] = row.predicted;
  out["error"] = row.error;
  out[fmt::format("p05_{}", unit)] = row.p05;
  out[fmt::format("p95_{}", unit)] = row.p95;
  if (!row.note.empty()) out["note"] = row.note;
  return out;
}

/// Rows of one kind scored together, whatever their table.
Json pooled(const Scores& scores, bool memory) {
  std::vector<ScoredRow> rows;
  Json list = Json::array();
  for (const ScoredRow& row : scores.rows) {
    if ((row.metric == Metric::peak_memory) != memory) continue;
    list.push_back(row_json(row));
    rows.push_back(row);
    rows.back().table.clear();
    rows.back().metric = Metric::step_time;
  }
  Json out{{"rows", std::move(list)}};
  put_figures(out, score_of("", Metric::step_time, rows));
  return out;
}

std::vector<std::string> table_names(const Scores& scores) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const Score& score : scores.by_table) add(score.table);
  for (const SkipCount& skip : scores.skipped) add(skip.table);
  return names;
}

std::string quantity(double value, Metric metric) {
  if (metric == Metric::peak_memory) return fmt::format("{:.2f} GiB", value / 1073741824.0);
  if (value >= 1) return fmt::format("{:.3f} s", value);
  if (value >= 1e-3) return fmt::format("{:.3f} ms", value * 1e3);
  return fmt::format("{:.2f} us", value * 1e6);
}
std::string percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-";
}
}  // namespace

Json validation_json(const Scores& scores, const AssumptionBook& book, const std::string& file) {
  Json out{{"file", file}};
  out.update(pooled(scores, false));
  Json memory = pooled(scores, true);
  if (!memory["rows"].empty()) out["memory"] = std::move(memory);
  out["tables"] = Json::array();
  for (const Score& score : scores.by_table) {
    Json entry{{"table", score.table}, {"metric", name_of(score.metric)}};
    put_figures(entry, score);
    out["tables"].push_back(std::move(entry));
  }
  out["skipped"] = Json::array();
  for (const SkipCount& skip : scores.skipped)
    out["skipped"].push_back(
        {{"reason", skip.reason}, {"count", skip.count}, {"table", skip.table}});
  out["assumptions"] = Json::object();
  for (const std::string& table : table_names(scores))
    out["assumptions"][table] = statements_of(book.set_for(table));
  return out;
}

std::string validation_text(const Scores& scores, const AssumptionBook& book,
                            const std::string& file, int worst) {
  std::string out = fmt::format(
      "{}\nerror = (predicted - measured) / measured; bias below 0: predicted too fast\n\n", file);
  out += fmt::format("{:<32} {:<16} {:>5} {:>8} {:>8} {:>8} {:>8} {:>6} {:>9}\n", "table", "metric",
                     "rows", "MAPE", "median", "bias", "p95", "rank", "cover 90");
  for (const Score& s : scores.by_table)
    out += fmt::format(
        "{:<32} {:<16} {:>5} {:>8} {:>8} {:>8} {:>8} {:>6} {:>9}\n", s.table, name_of(s.metric),
        s.rows, percent(s.mape), percent(s.median_error), percent(s.bias), percent(s.p95_error),
        std::isfinite(s.rank_correlation) ? fmt::format("{:.2f}", s.rank_correlation) : "-",
        percent(s.coverage_90));
  for (const Score& s : scores.by_table) {
    std::vector<const ScoredRow*> rows;
    for (const ScoredRow& row : scores.rows)
      if (row.table == s.table && row.metric == s.metric) rows.push_back(&row);
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return std::abs(a->error) > std::abs(b->error);
    });
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(std::max(worst, 0))));
    if (!rows.empty()) out += fmt::format("\nworst rows, {}, {}\n", s.table, name_of(s.metric));
    for (const ScoredRow* row : rows)
      out += fmt::format("  {:>8}  measured {:>12}  predicted {:>12}  {}{}\n",
                         fmt::format("{:+.1f} %", 100 * row->error),
                         quantity(row->measured, s.metric), quantity(row->predicted, s.metric),
                         row->id, row->note.empty() ? "" : " (" + row->note + ")");
  }
  if (!scores.skipped.empty()) out += "\nrows left out\n";
  for (const SkipCount& skip : scores.skipped)
    out += fmt::format("  {:>6}  {}: {}\n", skip.count, skip.table, skip.reason);
  for (const std::string& table : table_names(scores)) {
    const auto statements = statements_of(book.set_for(table));
    if (!statements.empty()) out += fmt::format("\nassumed for {}\n", table);
    for (const std::string& statement : statements) out += fmt::format("  - {}\n", statement);
  }
  return out;
}
}  // namespace stepcast
