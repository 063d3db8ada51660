#pragma once
#include <string>

#include "sim/io/csv.hpp"
#include "sim/validate/assumptions.hpp"
#include "sim/validate/predictor.hpp"
#include "tests/support/test.hpp"

/// Small tables written after the format of the public ones, and a predictor that needs no
/// simulator.
namespace stepcast::test {
inline CsvTable table_of(const std::string& text, const std::string& file = "table.csv") {
  return CsvTable::parse(text, file).value_or_throw();
}
/// The assumption sets that the project ships.
inline AssumptionBook shipped_book() {
  return read_assumptions(source_dir() + "/scenarios/validation").value_or_throw();
}
/// Predicts `factor` times what was measured, give or take a tenth; refuses questions of table
/// "refused".
class FakePredictor : public Predictor {
 public:
  explicit FakePredictor(double factor) : factor_(factor) {}
  Answer answer(const Question& question) override {
    if (question.table == "refused") return {{}, "does not fit", ""};
    Answer answer;
    for (const Measure& m : question.measures)
      answer.estimates.push_back(
          {factor_ * m.measured, 0.9 * factor_ * m.measured, 1.1 * factor_ * m.measured});
    return answer;
  }

 private:
  double factor_;
};
}  // namespace stepcast::test
