#include <cmath>

#include "runtime/compress/local_group.hpp"
#include "sim/core/random.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
/// Least squares over `kRanks` ranks that hold different data: f(w) = sum_r |A_r w - b_r|^2 / (2
/// rows). At the optimum the ranks' gradients cancel without vanishing, which is where a biased
/// compressor stops in the wrong place.
constexpr int kRanks = 4, kRows = 32, kWidth = 64;
struct Problem {
  std::vector<std::vector<double>> a, b;
  Problem() : a(kRanks), b(kRanks) {
    std::vector<double> truth(kWidth);
    for (std::size_t j = 0; j < kWidth; ++j) truth[j] = normal_from_bits(mixed_bits(1, j));
    for (std::size_t r = 0; r < kRanks; ++r)
      for (std::size_t i = 0; i < kRows; ++i) {
        double value = 0.5 * normal_from_bits(mixed_bits(2, r * kRows + i));
        for (std::size_t j = 0; j < kWidth; ++j) {
          a[r].push_back(normal_from_bits(mixed_bits(3, (r * kRows + i) * kWidth + j)));
          value += a[r].back() * truth[j] * (1 + 0.5 * static_cast<double>(r));  // ranks disagree
        }
        b[r].push_back(value);
      }
  }
  double loss_and_gradient(std::size_t r, const std::vector<double>& w,
                           std::vector<float>* gradient) const {
    double loss = 0;
    std::vector<double> sum(kWidth);
    for (std::size_t i = 0; i < kRows; ++i) {
      double error = -b[r][i];
      for (std::size_t j = 0; j < kWidth; ++j) error += a[r][i * kWidth + j] * w[j];
      loss += error * error / (2.0 * kRows * kRanks);
      for (std::size_t j = 0; j < kWidth; ++j)
        sum[j] += error * a[r][i * kWidth + j] / (1.0 * kRows * kRanks);
    }
    if (gradient != nullptr) gradient->assign(sum.begin(), sum.end());
    return loss;
  }
  double loss(const std::vector<double>& w) const {
    double total = 0;
    for (std::size_t r = 0; r < kRanks; ++r) total += loss_and_gradient(r, w, nullptr);
    return total;
  }
  /// Gradient descent; loss after `steps`. An empty scheme: no compression.
  double trained(const CompressorChoice& choice, int steps, double rate) const {
    std::vector<double> w(kWidth);
    std::unique_ptr<LocalGroup> group;
    if (!choice.scheme.empty()) group = std::make_unique<LocalGroup>(choice, kRanks, kWidth);
    for (int step = 0; step < steps; ++step) {
      std::vector<std::vector<float>> gradients(kRanks);
      for (std::size_t r = 0; r < kRanks; ++r) loss_and_gradient(r, w, &gradients[r]);
      if (group != nullptr)
        group->reduce(gradients);
      else
        for (std::size_t r = 1; r < kRanks; ++r)
          for (std::size_t j = 0; j < kWidth; ++j) gradients[0][j] += gradients[r][j];
      for (std::size_t j = 0; j < kWidth; ++j) w[j] -= rate * static_cast<double>(gradients[0][j]);
    }
    return loss(w);
  }
};
}  // namespace

TEST_CASE(
    "with error feedback every scheme reaches the optimum of least squares and without it the "
    "documented ones miss it",
    "[compress]") {
  const Problem problem;
  const std::vector<double> start(kWidth);
  // Largest eigenvalue of A'A/rows is about (1 + sqrt(64/128))^2 = 2.9; rate 0.02 leaves room for
  // delayed gradients.
  const double optimum = problem.trained({}, 4000, 0.2), first = problem.loss(start);
  const int steps = 4000;
  for (const std::string& scheme : compressor_names()) {
    const double with = problem.trained({.scheme = scheme, .ratio = 0.1, .rank = 1}, steps, 0.02);
    const double without = problem.trained(
        {.scheme = scheme, .ratio = 0.1, .rank = 1, .has_error_feedback = false}, steps, 0.02);
    INFO(scheme << ": without " << without << ", with " << with << ", optimum " << optimum
                << ", start " << first);
    CAPTURE(needs_error_feedback(scheme));
    REQUIRE(with - optimum < 2e-3 * (first - optimum));
    if (needs_error_feedback(scheme).empty())
      REQUIRE(without - optimum < 2e-3 * (first - optimum));
    else
      REQUIRE(without - optimum > 10 * std::fmax(with - optimum, 1e-6 * (first - optimum)));
  }
}
