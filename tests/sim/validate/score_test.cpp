#include <cmath>

#include "sim/validate/score.hpp"
#include "tests/sim/validate/support.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
ScoredRow row(double measured, double predicted, double p05, double p95) {
  return {"t",
          "id",
          "",
          Metric::step_time,
          measured,
          predicted,
          p05,
          p95,
          (predicted - measured) / measured};
}
}  // namespace

TEST_CASE("figures of a score follow their definitions", "[validate]") {
  // errors -10 %, +20 %, 0 %: mean |e| 10 %, median |e| 10 %, bias +3.33 %, 95th percentile of {0,
  // 10, 20} = 19 %; measured 1 < 2 < 3 and predicted 0.9 < 2.4 < 3: same order; two of three
  // measurements lie in their interval.
  const std::vector<ScoredRow> rows{row(1, 0.9, 0.8, 1.0), row(2, 2.4, 2.1, 2.7),
                                    row(3, 3, 2.9, 3.1)};
  const Score score = score_of("t", Metric::step_time, rows);
  REQUIRE(score.rows == 3);
  REQUIRE(score.mape == Approx(0.1));
  REQUIRE(score.median_error == Approx(0.1));
  REQUIRE(score.bias == Approx(0.1 / 3));
  REQUIRE(score.p95_error == Approx(0.19));
  REQUIRE(score.rank_correlation == Approx(1.0));
  REQUIRE(score.coverage_90 == Approx(2.0 / 3));
}

TEST_CASE("rows of another table or metric do not enter a score", "[validate]") {
  std::vector<ScoredRow> rows{row(1, 1.1, 1, 2), row(1, 5, 1, 2), row(1, 7, 1, 2)};
  rows[1].table = "other";
  rows[2].metric = Metric::peak_memory;
  REQUIRE(score_of("t", Metric::step_time, rows).mape == Approx(0.1));
}

TEST_CASE("a refused question counts its rows under the reason", "[validate]") {
  Questions questions;
  questions.list.push_back({"t", "f", StepQuestion{}, {{"a", Metric::step_time, 2.0, 0}}});
  questions.list.push_back(
      {"refused",
       "f",
       StepQuestion{},
       {{"b", Metric::step_time, 1.0, 0}, {"c", Metric::peak_memory, 1.0, 0}}});
  questions.skipped.push_back({"t", "d", "no time"});
  test::FakePredictor half(0.5);
  const Scores scores = score_answers(questions, answer_all(half, questions.list, 1));
  REQUIRE(scores.rows.size() == 1);
  REQUIRE(scores.rows[0].error == Approx(-0.5));
  REQUIRE(scores.skipped.size() == 2);
  REQUIRE(scores.skipped[0].reason == "does not fit");
  REQUIRE(scores.skipped[0].count == 2);
  REQUIRE(scores.skipped[1].count == 1);
}
