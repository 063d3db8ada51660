#include "sim/validate/score.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/core/robust_stats.hpp"

namespace stepcast {

Score score_of(const std::string& table, Metric metric, const std::vector<ScoredRow>& rows) {
  std::vector<double> errors, sizes, measured, predicted;
  double inside = 0;
  for (const ScoredRow& row : rows) {
    if (row.table != table || row.metric != metric) continue;
    errors.push_back(row.error);
    sizes.push_back(std::abs(row.error));
    measured.push_back(row.measured);
    predicted.push_back(row.predicted);
    if (row.measured >= row.p05 && row.measured <= row.p95) inside += 1;
  }
  Score score{table,
              metric,
              errors.size(),
              mean(sizes),
              median(sizes),
              mean(errors),
              quantile(sizes, 0.95),
              rank_correlation(measured, predicted),
              inside / static_cast<double>(errors.size())};
  return score;
}

Scores score_answers(const Questions& questions, const std::vector<Answer>& answers) {
  STEPCAST_ASSERT(questions.list.size() == answers.size(), "every question has its answer");
  Scores scores;
  const auto skip = [&](const std::string& table, const std::string& reason) {
    const auto same =
        std::find_if(scores.skipped.begin(), scores.skipped.end(),
                     [&](const SkipCount& s) { return s.table == table && s.reason == reason; });
    if (same != scores.skipped.end())
      ++same->count;
    else
      scores.skipped.push_back({table, reason, 1});
  };
  for (const SkippedRow& row : questions.skipped) skip(row.table, row.reason);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Question& question = questions.list[i];
    const Answer& answer = answers[i];
    STEPCAST_ASSERT(!answer.refusal.empty() || answer.estimates.size() == question.measures.size(),
                    "one estimate per measure");
    for (std::size_t j = 0; j < question.measures.size(); ++j) {
      const Measure& measure = question.measures[j];
      if (!answer.refusal.empty()) {
        skip(question.table, answer.refusal);
        continue;
      }
      const Estimate& e = answer.estimates[j];
      scores.rows.push_back({question.table, measure.id, answer.note, measure.metric,
                             measure.measured, e.value, e.p05, e.p95,
                             (e.value - measure.measured) / measure.measured});
    }
  }
  for (const ScoredRow& row : scores.rows) {
    const bool known =
        std::any_of(scores.by_table.begin(), scores.by_table.end(),
                    [&](const Score& s) { return s.table == row.table && s.metric == row.metric; });
    if (!known) scores.by_table.push_back(score_of(row.table, row.metric, scores.rows));
  }
  std::stable_sort(scores.skipped.begin(), scores.skipped.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return scores;
}
}  // namespace stepcast
