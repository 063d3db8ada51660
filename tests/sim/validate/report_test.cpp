#include "sim/io/json.hpp"
#include "sim/validate/table_format.hpp"
#include "sim/validate/validation_report.hpp"
#include "tests/sim/validate/support.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
Scores vtrain_scores() {
  const CsvTable table = test::table_of(
      "gpus,global_batch,micro_batch,hidden,heads,layers,sequence_length,tp,dp,pp,iteration_time_"
      "ms\n"
      "4,16,4,2048,16,24,1024,1,2,2,400\n4,16,4,1024,16,24,1024,1,2,2,200\n4,16,4,1024,16,24,1024,"
      "3,2,2,200\n");
  const Questions questions = read_questions(table, test::shipped_book(), {});
  test::FakePredictor predictor(1.05);
  return score_answers(questions, answer_all(predictor, questions.list, 1));
}
}  // namespace

TEST_CASE("the JSON report carries rows figures skipped rows and assumptions", "[validate]") {
  const Json json = validation_json(vtrain_scores(), test::shipped_book(), "v.csv");
  REQUIRE(json["rows"].size() == 2);
  REQUIRE(json["rows"][0]["measured_s"] == Approx(0.4));
  REQUIRE(json["rows"][0]["predicted_s"] == Approx(0.42));
  REQUIRE(json["rows"][0]["p05_s"] == Approx(0.378));
  REQUIRE(json["mape"] == Approx(0.05));
  REQUIRE(json["bias"] == Approx(0.05));
  REQUIRE(json["coverage_90"] == Approx(1.0));
  REQUIRE(json["rank_correlation"] == Approx(1.0));
  REQUIRE(json["skipped"][0]["count"] == 1);
  REQUIRE_FALSE(json["assumptions"]["vtrain_single"].empty());
  REQUIRE_FALSE(json.contains("memory"));
}

TEST_CASE("memory rows stand apart from times", "[validate]") {
  Scores scores;
  scores.rows.push_back({"simumax", "a", "", Metric::step_time, 1, 1.1, 1, 1.2, 0.1});
  scores.rows.push_back({"simumax", "a", "", Metric::peak_memory, 100, 150, 100, 200, 0.5});
  for (const Metric metric : {Metric::step_time, Metric::peak_memory})
    scores.by_table.push_back(score_of("simumax", metric, scores.rows));
  const Json json = validation_json(scores, test::shipped_book(), "s.csv");
  REQUIRE(json["mape"] == Approx(0.1));
  REQUIRE(json["memory"]["mape"] == Approx(0.5));
  REQUIRE(json["memory"]["rows"][0]["measured_bytes"] == 100);
  REQUIRE(json["tables"].size() == 2);
}

TEST_CASE("the text report names the worst rows first and what was assumed", "[validate]") {
  Scores scores = vtrain_scores();
  scores.rows[1].error = -0.3;
  const std::string text = validation_text(scores, test::shipped_book(), "v.csv", 1);
  REQUIRE(text.find("-30.0 %") != std::string::npos);
  REQUIRE(text.find("+5.0 %  measured") == std::string::npos);  // one worst row was asked for
  REQUIRE(text.find("assumed for vtrain_single") != std::string::npos);
  REQUIRE(text.find("does not divide 4 accelerators") != std::string::npos);
}
