#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/validate/predictor.hpp"
#include "sim/validate/question.hpp"

namespace stepcast {
/// One measured number beside its prediction. error = (predicted - measured) / measured.
struct ScoredRow {
  std::string table, id, note;
  Metric metric = Metric::step_time;
  double measured = 0, predicted = 0, p05 = 0, p95 = 0, error = 0;
};
/// Errors are fractions; NaN where there is no row (or, for the correlation, fewer than two).
struct Score {
  std::string table;
  Metric metric = Metric::step_time;
  std::size_t rows = 0;
  double mape = 0;              // mean |error|
  double median_error = 0;      // median |error|
  double bias = 0;              // mean error: negative means predicted too fast
  double p95_error = 0;         // 95th percentile of |error|
  double rank_correlation = 0;  // Spearman, predicted against measured
  double coverage_90 = 0;       // share of measurements inside [p05, p95]
};
Score score_of(const std::string& table, Metric metric, const std::vector<ScoredRow>& rows);

struct SkipCount {
  std::string table, reason;
  std::size_t count = 0;
};
struct Scores {
  std::vector<ScoredRow> rows;     // in the order of the file
  std::vector<Score> by_table;     // one per (table, metric), in order of first row
  std::vector<SkipCount> skipped;  // most frequent first
};
Scores score_answers(const Questions& questions, const std::vector<Answer>& answers);
}  // namespace stepcast
