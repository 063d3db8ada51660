#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/validate/question.hpp"

namespace stepcast {
/// A predicted number with its 90 % interval; seconds or bytes as the measure it answers.
struct Estimate {
  double value = 0, p05 = 0, p95 = 0;
};
/// One estimate per measure of the question, or the reason why there is none.
struct Answer {
  std::vector<Estimate> estimates;
  std::string refusal;
  std::string note;  // what was derived on the way: "micro-batch 4"
};
class Predictor {
 public:
  virtual ~Predictor() = default;
  /// Never throws for a question that cannot be answered: the refusal says why.
  virtual Answer answer(const Question& question) = 0;
};

/// Answers all questions with `jobs` worker processes (one engine per process); 1 = in this
/// process. Answers stand in the order of the questions, whatever the number of jobs. A worker that
/// dies refuses the question it was at. `progress` is called in the parent after each answer with
/// the number done.
std::vector<Answer> answer_all(Predictor& predictor, const std::vector<Question>& questions,
                               int jobs,
                               void (*progress)(std::size_t done, std::size_t total) = nullptr);
}  // namespace stepcast
