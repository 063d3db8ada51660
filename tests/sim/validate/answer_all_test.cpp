#include <csignal>
#include <cstdlib>

#include "tests/sim/validate/support.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::vector<Question> numbered(int count) {
  std::vector<Question> questions;
  for (int i = 1; i <= count; ++i)
    questions.push_back(
        {"t", "f", StepQuestion{}, {{std::to_string(i), Metric::step_time, 1.0 * i, 0}}});
  return questions;
}
/// Ends its process at question 3.
class DyingPredictor : public test::FakePredictor {
 public:
  DyingPredictor() : FakePredictor(1) {}
  Answer answer(const Question& question) override {
    if (question.measures[0].id == "3") std::raise(SIGKILL);
    return FakePredictor::answer(question);
  }
};
}  // namespace

TEST_CASE("three workers answer in the order of the questions as one does", "[validate]") {
  test::FakePredictor twice(2);
  const auto questions = numbered(20);
  const auto alone = answer_all(twice, questions, 1);
  const auto shared = answer_all(twice, questions, 3);
  REQUIRE(shared.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    REQUIRE(shared[i].estimates.size() == 1);
    REQUIRE(shared[i].estimates[0].value == alone[i].estimates[0].value);
    REQUIRE(shared[i].estimates[0].p95 == alone[i].estimates[0].p95);
  }
}

TEST_CASE("a worker that dies costs its own question only", "[validate]") {
  DyingPredictor predictor;
  const auto answers = answer_all(predictor, numbered(8), 2);
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == 2)
      REQUIRE(answers[i].refusal == "our fault: the simulation died of signal 9");
    else
      REQUIRE(answers[i].estimates.at(0).value == Approx(static_cast<double>(i + 1)));
  }
}
