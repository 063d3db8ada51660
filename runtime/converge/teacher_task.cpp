#include <cmath>

#include "runtime/converge/learning_task.hpp"
#include "sim/core/random.hpp"

namespace stepcast::runtime {
namespace {
constexpr int kInputs = 32, kClasses = 10, kHidden = 64;
constexpr int kTeacherHidden = 24;
constexpr std::int64_t kTrain = 16384, kHeldOut = 2048;
constexpr std::uint64_t kTeacherSeed =
    20160;  // any; the teacher is part of the task, seeds vary the student
constexpr double kSharpness =
    2.5;  // factor on the teacher's logits: leaves a floor of about a third of ln 10
constexpr double kShareToLearn = 0.6;

/// The teacher's class probabilities and a label drawn from them, for inputs drawn from `seed`.
double fill(Samples& samples, std::int64_t rows, const Network& teacher,
            const std::vector<float>& weights, std::uint64_t seed) {
  samples.features.resize(rows, kInputs);
  samples.labels.assign(static_cast<std::size_t>(rows), 0);
  for (std::int64_t row = 0; row < rows; ++row)
    for (int i = 0; i < kInputs; ++i)
      samples.features(row, i) = static_cast<float>(
          normal_from_bits(mixed_bits(seed, static_cast<std::uint64_t>(row * kInputs + i))));
  const Matrix probability = teacher.probabilities(weights, samples);
  double entropy = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    double left = uniform_from_bits(mixed_bits(seed ^ 0x5eedULL, static_cast<std::uint64_t>(row)));
    int label = kClasses - 1;
    for (int c = kClasses - 1; c >= 0; --c) {
      const double p = static_cast<double>(probability(row, c));
      if (p > 0) entropy -= p * std::log(p);
      if (left >= 0) label = c;
      left -= p;
    }
    samples.labels[static_cast<std::size_t>(row)] = label;
  }
  return entropy / static_cast<double>(rows);
}
}  // namespace

LearningTask teacher_task(BatchNorm batch_norm) {
  const Network teacher({.features = kInputs, .hidden = kTeacherHidden, .classes = kClasses});
  std::vector<float> weights = teacher.initialised(kTeacherSeed);
  const TensorSpan last = teacher.tensors()[4];  // the classifier's weights
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(last.rows) * last.columns; ++i)
    weights[static_cast<std::size_t>(last.offset + i)] *= static_cast<float>(kSharpness);

  LearningTask task{
      .name = "teacher",
      .network = Network(
          {.features = kInputs, .hidden = kHidden, .classes = kClasses, .batch_norm = batch_norm}),
      .train = {},
      .held_out = {},
      .domains = std::vector<std::vector<std::int32_t>>(kClasses)};
  fill(task.train, kTrain, teacher, weights, kTeacherSeed + 1);
  task.floor_loss = fill(task.held_out, kHeldOut, teacher, weights, kTeacherSeed + 2);
  for (std::size_t row = 0; row < task.train.labels.size(); ++row)
    task.domains[static_cast<std::size_t>(task.train.labels[row])].push_back(
        static_cast<std::int32_t>(row));
  std::erase_if(task.domains, [](const auto& domain) { return domain.empty(); });
  task.start_loss = std::log(static_cast<double>(kClasses));
  task.target_loss = task.start_loss - kShareToLearn * (task.start_loss - task.floor_loss);
  return task;
}
}  // namespace stepcast::runtime
