#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("fused cross-entropy gives loss probabilities and gradient and ignores padding",
          "[kernels]") {
  const std::int64_t rows = 4, width = 320, valid = 301;
  std::vector<int> targets{0, 300, 17, 255};
  for (const Precision precision : kPrecisions)
    under_each_schedule([&] {
      Operand logits(random_values(rows * width, 1, 3.0f), precision), losses = zeros(rows);
      std::vector<double> loss, gradient;
      for (std::int64_t r = 0; r < rows; ++r) {
        double maximum = -1e30, sum = 0;
        for (std::int64_t i = 0; i < valid; ++i) maximum = std::max(maximum, logits[r * width + i]);
        for (std::int64_t i = 0; i < valid; ++i) sum += std::exp(logits[r * width + i] - maximum);
        const int target = targets[static_cast<std::size_t>(r)];
        loss.push_back(std::log(sum) + maximum - logits[r * width + target]);
        for (std::int64_t i = 0; i < width; ++i)
          gradient.push_back(0.25 *
                             ((i < valid ? std::exp(logits[r * width + i] - maximum) / sum : 0) -
                              (i == target ? 1 : 0)));
      }
      launch::loss_forward(nullptr, logits.view(), View{targets.data()}, losses.view(), rows, width,
                           valid);
      launch::split_loss_backward(nullptr, logits.view(), View{targets.data()}, 0.25f, rows, width,
                                  0);
      require_close(losses.read(), loss, 1e-5, 1e-5);
      require_close(logits.read(), gradient, tolerance_of(precision),
                    precision == Precision::bf16 ? 1e-3 : 1e-6);
    });
}

TEST_CASE("cross-entropy with the vocabulary split over two ranks equals the whole one",
          "[kernels]") {
  const std::int64_t rows = 3, width = 90;
  std::vector<int> targets{5, 46, 89};
  const std::vector<float> logits = random_values(rows * width, 9, 4.0f);
  Operand whole(logits), losses = zeros(rows);
  launch::loss_forward(nullptr, whole.view(), View{targets.data()}, losses.view(), rows, width,
                       width);
  std::vector<Operand> parts, maxima, sums;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    std::vector<float> part;
    for (std::int64_t r = 0; r < rows; ++r)
      part.insert(part.end(), logits.begin() + r * width + rank * 45,
                  logits.begin() + r * width + rank * 45 + 45);
    parts.emplace_back(part);
    maxima.push_back(zeros(rows));
    sums.push_back(zeros(2 * rows));
    launch::split_loss_max(nullptr, parts.back().view(), maxima.back().view(), rows, 45, 45);
  }
  std::vector<float> maximum, sum;  // what the ranks' all-reduce would give
  for (std::size_t r = 0; r < 3; ++r)
    maximum.push_back(std::max(maxima[0].read()[r], maxima[1].read()[r]));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    launch::split_loss_sum(nullptr, parts[rank].view(), View{targets.data()}, View{maximum.data()},
                           sums[rank].view(), rows, 45, static_cast<std::int64_t>(rank) * 45, 45);
  }
  for (std::size_t i = 0; i < 6; ++i) sum.push_back(sums[0].read()[i] + sums[1].read()[i]);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Operand split_losses = zeros(rows);
    launch::split_loss_finish(nullptr, parts[rank].view(), View{sum.data()}, split_losses.view(),
                              rows, 45, 45);
    for (std::int64_t r = 0; r < rows; ++r) {
      REQUIRE(split_losses[r] == Approx(losses[r]).epsilon(1e-5));
      for (std::int64_t i = 0; i < 45; ++i)
        REQUIRE(parts[rank][r * 45 + i] ==
                Approx(whole[r * width + static_cast<std::int64_t>(rank) * 45 + i]).margin(1e-6));
    }
  }
}

TEST_CASE("binary loss is the logistic loss without overflow", "[kernels]") {
  // log(1 + e^0) = ln 2, gradient -1/2; y z = -100: loss 100, gradient of a wrong sure answer is
  // -y.
  std::vector<float> logits{0, 100, -100}, targets{1, -1, -1}, losses(3), gradient(3);
  launch::binary_loss(nullptr, View{logits.data()}, View{targets.data()}, View{losses.data()},
                      View{gradient.data()}, 3, 0.5f);
  require_close(losses, {std::log(2.0), 100, 0}, 1e-6, 1e-6);
  require_close(gradient, {-0.25, 0.5, 0}, 1e-6, 1e-6);
}
