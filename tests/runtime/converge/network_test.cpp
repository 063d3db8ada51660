#include "runtime/converge/learning_task.hpp"
#include "sim/core/result.hpp"
#include "tests/support/test.hpp"

namespace stepcast::runtime {
namespace {
/// Largest difference between a worker's gradient and the central difference of its loss, relative
/// to the gradient's largest.
double gradient_error(const LearningTask& task, std::uint64_t seed) {
  std::vector<float> w = task.network.initialised(seed);
  const Samples samples = drawn_samples(task, seed, 0, 0, 1, 24, 0);
  std::vector<std::vector<float>> g(1);
  task.network.gradients(w, samples, g);
  double largest = 0, error = 0;
  for (const float v : g[0]) largest = std::max(largest, std::abs(static_cast<double>(v)));
  for (std::size_t i = 0; i < w.size(); i += 53) {
    constexpr float kStep =
        1e-3F;  // single precision: smaller steps lose digits, larger ones cross a ReLU
    const float middle = w[i];
    w[i] = middle + kStep;
    const double above = task.network.loss(w, samples);
    w[i] = middle - kStep;
    const double below = task.network.loss(w, samples);
    w[i] = middle;
    error = std::max(error, std::abs((above - below) / (2 * static_cast<double>(kStep)) -
                                     static_cast<double>(g[0][i])));
  }
  return error / largest;
}
}  // namespace

TEST_CASE("gradients agree with central differences for every batch norm and both inputs") {
  for (const BatchNorm norm : {BatchNorm::none, BatchNorm::local, BatchNorm::sync}) {
    CHECK(gradient_error(teacher_task(norm), 3) < 0.03);
    CHECK(gradient_error(text_task("", norm), 4) < 0.03);
  }
}

TEST_CASE("the mean of synchronised workers is the gradient of all samples together") {
  for (const BatchNorm norm : {BatchNorm::none, BatchNorm::sync}) {
    const LearningTask task = teacher_task(norm);
    const std::vector<float> w = task.network.initialised(1);
    const Samples samples = drawn_samples(task, 1, 0, 0, 4, 8, 0);
    std::vector<std::vector<float>> split(4), whole(1);
    task.network.gradients(w, samples, split);
    task.network.gradients(w, samples, whole);
    for (std::size_t i = 0; i < w.size(); i += 17)
      CHECK((split[0][i] + split[1][i] + split[2][i] + split[3][i]) / 4 ==
            Approx(whole[0][i]).margin(1e-5));
  }
}

TEST_CASE("batch norm with local statistics differs from synchronised statistics") {
  const LearningTask local = teacher_task(BatchNorm::local), sync = teacher_task(BatchNorm::sync);
  const std::vector<float> w = local.network.initialised(1);
  const Samples samples = drawn_samples(local, 1, 0, 0, 4, 8, 0);
  std::vector<std::vector<float>> a(4), b(4);
  CHECK(local.network.gradients(w, samples, a) !=
        Approx(sync.network.gradients(w, samples, b)).epsilon(1e-3));
}

TEST_CASE("a worker sees the same samples whoever else draws") {
  const LearningTask task = teacher_task(BatchNorm::none);
  const Samples all = drawn_samples(task, 7, 3, 0, 4, 8, 0.5),
                alone = drawn_samples(task, 7, 3, 2, 1, 8, 0.5);
  for (int i = 0; i < 8; ++i) {
    CHECK(alone.labels[static_cast<std::size_t>(i)] ==
          all.labels[static_cast<std::size_t>(16 + i)]);
    CHECK(alone.features(i, 5) == all.features(16 + i, 5));
  }
}

TEST_CASE("full skew gives a worker nothing but its own class") {
  const LearningTask task = teacher_task(BatchNorm::none);
  for (const int label : drawn_samples(task, 1, 0, 3, 1, 64, 1).labels) CHECK(label == 3);
}

TEST_CASE("a corpus that is too short or missing is refused by name") {
  CHECK_THROWS_AS(text_task("/nonexistent-corpus", BatchNorm::none), InputError);
  CHECK_THROWS_AS(text_task("/etc/os-release", BatchNorm::none), InputError);
}
}  // namespace stepcast::runtime
