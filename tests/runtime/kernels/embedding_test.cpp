#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("embedding reads its rows and its backward adds repeated tokens in order", "[kernels]") {
  // Rows 10..13 are ours; token 2 lies elsewhere; row 11 occurs twice.
  std::vector<int> ids{11, 13, 2, 11};
  std::vector<float> table{1, 2, 3, 4, 5, 6, 7, 8}, y(8, 9.0f);
  launch::embedding_forward(nullptr, View{ids.data()}, View{table.data()}, View{y.data()}, 4, 2, 10,
                            4);
  REQUIRE(y == std::vector<float>{3, 4, 7, 8, 0, 0, 3, 4});
  std::vector<float> dy{1, 2, 3, 4, 5, 6, 7, 8}, dtable(8, 99.0f);
  under_each_schedule([&] {
    launch::embedding_backward(nullptr, View{ids.data()}, View{dy.data()}, View{dtable.data()}, 4,
                               2, 10, 4);
    REQUIRE(dtable == std::vector<float>{0, 0, 8, 10, 0, 0, 3, 4});
  });
}
TEST_CASE("positions are added per token and their gradient sums over samples", "[kernels]") {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8}, positions{10, 20, 30, 40}, y(8),
      gradient{1, 1, 1, 1};
  launch::position_forward(nullptr, View{x.data()}, View{positions.data()}, View{y.data()}, 2, 2,
                           2);
  REQUIRE(y == std::vector<float>{11, 22, 33, 44, 15, 26, 37, 48});
  launch::position_backward(nullptr, View{x.data()}, View{gradient.data()}, 2, 2, 2);
  REQUIRE(gradient == std::vector<float>{7, 9, 11, 13});
}
TEST_CASE("embedding bags sum their rows and updates of a shared row add up", "[kernels]") {
  std::vector<int> indices{0, 2, 2, 2};  // two samples of two
  std::vector<float> table{1, 2, 3, 4, 5, 6}, y(4), dy{1, 2, 3, 4};
  EmbeddingBagCall call{
      2, 2, 3, 2, View{table.data()}, View{indices.data()}, View{y.data()}, View{dy.data()}, 0.5f};
  launch::embedding_bag_forward(nullptr, call);
  REQUIRE(y == std::vector<float>{6, 8, 10, 12});
  launch::embedding_bag_update(nullptr, call);
  // row 0: -0.5 (1, 2); row 2: once from the first sample, twice from the second: -0.5 (1 + 6, 2 +
  // 8).
  REQUIRE(table == std::vector<float>{0.5f, 1, 3, 4, 1.5f, 1});
}
TEST_CASE("interaction is the lower triangle of all products and its gradient matches differences",
          "[kernels]") {
  const std::int64_t samples = 2, features = 4, width = 37, out = width + 6;
  Operand z(random_values(samples * features * width, 1)), dy(random_values(samples * out, 2)),
      y = zeros(samples * out), dz = zeros(samples * features * width);
  std::vector<double> ey, edz(static_cast<std::size_t>(samples * features * width));
  for (std::int64_t s = 0; s < samples; ++s) {
    const auto at = [&](std::int64_t a, std::int64_t i) { return (s * features + a) * width + i; };
    for (std::int64_t i = 0; i < width; ++i) {
      ey.push_back(z[at(0, i)]);
      edz[static_cast<std::size_t>(at(0, i))] += dy[s * out + i];
    }
    std::int64_t pair = s * out + width;
    for (std::int64_t a = 1; a < features; ++a)
      for (std::int64_t b = 0; b < a; ++b, ++pair) {
        double sum = 0;
        for (std::int64_t i = 0; i < width; ++i) {
          sum += z[at(a, i)] * z[at(b, i)];
          edz[static_cast<std::size_t>(at(a, i))] += dy[pair] * z[at(b, i)];
          edz[static_cast<std::size_t>(at(b, i))] += dy[pair] * z[at(a, i)];
        }
        ey.push_back(sum);
      }
  }
  under_each_schedule([&] {
    launch::interaction_forward(nullptr, z.view(), y.view(), samples, features, width);
    launch::interaction_backward(nullptr, z.view(), dy.view(), dz.view(), samples, features, width);
    require_close(y.read(), ey, 1e-5, 1e-5);
    require_close(dz.read(), edz, 1e-5, 1e-5);
  });
}
