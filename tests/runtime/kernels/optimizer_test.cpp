#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("AdamW takes the textbook step and writes the narrow copy", "[kernels]") {
  const std::int64_t n = 500;
  auto master = random_values(n, 1), gradient = random_values(n, 2),
       first = random_values(n, 3, 0.1f), second = random_values(n, 4, 0.01f);
  for (float& v : second) v = std::fabs(v);
  std::vector<std::uint16_t> narrow(static_cast<std::size_t>(n));
  const float rate = 0.01f, b1 = 0.9f, b2 = 0.95f, eps = 1e-8f, decay = 0.1f;
  std::vector<double> expected;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const double g = gradient[i], m = 0.9 * first[i] + 0.1 * g, v = 0.95 * second[i] + 0.05 * g * g;
    const double mhat = m / (1 - std::pow(0.9, 3)), vhat = v / (1 - std::pow(0.95, 3));
    expected.push_back(master[i] - 0.01 * (mhat / (std::sqrt(vhat) + 1e-8) + 0.1 * master[i]));
  }
  launch::adam(nullptr, {n, View{master.data()}, View{gradient.data()}, View{first.data()},
                         View{second.data()}, View{narrow.data(), Precision::bf16}, rate, b1, b2,
                         eps, decay, 3});
  require_close(master, expected, 1e-5, 1e-6);
  for (std::size_t i = 0; i < narrow.size(); ++i) REQUIRE(narrow[i] == bf16_of(master[i]));
}
TEST_CASE("momentum SGD keeps its velocity and decays", "[kernels]") {
  // v = 0.9 * 1 + 2 + 0.1 * 10 = 3.9; w = 10 - 0.5 * 3.9
  std::vector<float> w{10}, g{2}, v{1};
  launch::sgd(nullptr, {1, View{w.data()}, View{g.data()}, View{v.data()}, {}, 0.5f, 0.9f, 0.1f});
  REQUIRE(v[0] == Approx(3.9f));
  REQUIRE(w[0] == Approx(10 - 0.5 * 3.9));
}
TEST_CASE(
    "the global norm adds to what is there and clipping scales to the limit only when above it",
    "[kernels]") {
  const std::int64_t n = 3000;
  std::vector<float> x(static_cast<std::size_t>(n), 0.5f), sum{16.0f};
  under_each_schedule([&] {
    sum[0] = 16.0f;
    launch::square_sum(nullptr, View{x.data()}, View{sum.data()}, n);
    REQUIRE(sum[0] == Approx(16 + 3000 * 0.25));
  });
  sum[0] = 100.0f;
  launch::clip(nullptr, View{x.data()}, View{sum.data()}, 20.0f, n);  // norm 10, below
  REQUIRE(x[7] == 0.5f);
  launch::clip(nullptr, View{x.data()}, View{sum.data()}, 5.0f, n);  // halves
  REQUIRE(x[0] == 0.25f);
  REQUIRE(x[2999] == 0.25f);
}
