#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.141592653589793) * (x + 0.044715 * x * x * x)));
}
double silu(double x) { return x / (1 + std::exp(-x)); }
/// Central difference in double precision: the oracle of every slope.
template <class F>
double slope(const F& f, double x) {
  return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5;
}
}  // namespace

TEST_CASE("activations and their gradients follow their formulas with a bias", "[kernels]") {
  const std::int64_t rows = 7, width = 45;
  for (const Precision precision : kPrecisions) {
    for (const ActivationKind kind : {ActivationKind::gelu, ActivationKind::relu}) {
      Operand x(random_values(rows * width, 1, 2.0f), precision),
          bias(random_values(width, 2), precision), dy(random_values(rows * width, 3), precision);
      Operand y = zeros(rows * width, precision), dx = zeros(rows * width, precision);
      const auto f = [&](double v) {
        return kind == ActivationKind::gelu ? gelu(v) : std::max(v, 0.0);
      };
      std::vector<double> ey, edx;
      for (std::int64_t i = 0; i < rows * width; ++i) {
        ey.push_back(f(x[i] + bias[i % width]));
        // relu has no slope at 0, where bf16 sums land; ours is 0 there.
        const double v = x[i] + bias[i % width];
        edx.push_back(dy[i] * (kind == ActivationKind::relu ? (v > 0 ? 1.0 : 0.0) : slope(f, v)));
      }
      const ActivationCall call{kind,        rows,     width,     x.view(),
                                bias.view(), y.view(), dy.view(), dx.view()};
      launch::activation_forward(nullptr, call);
      launch::activation_backward(nullptr, call);
      require_close(y.read(), ey, tolerance_of(precision), 1e-4);
      require_close(dx.read(), edx, tolerance_of(precision), 1e-4);
    }
    Operand x(random_values(rows * 2 * width, 1, 2.0f), precision),
        dy(random_values(rows * width, 3), precision);
    Operand y = zeros(rows * width, precision), dx = zeros(rows * 2 * width, precision);
    std::vector<double> ey(static_cast<std::size_t>(rows * width)),
        edx(static_cast<std::size_t>(rows * 2 * width));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < width; ++i) {
        const double gate = x[r * 2 * width + i], up = x[r * 2 * width + width + i],
                     d = dy[r * width + i];
        ey[static_cast<std::size_t>(r * width + i)] = silu(gate) * up;
        edx[static_cast<std::size_t>(r * 2 * width + i)] = d * up * slope(silu, gate);
        edx[static_cast<std::size_t>(r * 2 * width + width + i)] = d * silu(gate);
      }
    const ActivationCall call{
        ActivationKind::swiglu, rows, width, x.view(), {}, y.view(), dy.view(), dx.view()};
    launch::activation_forward(nullptr, call);
    launch::activation_backward(nullptr, call);
    require_close(y.read(), ey, tolerance_of(precision), 1e-4);
    require_close(dx.read(), edx, tolerance_of(precision), 1e-4);
  }
}
TEST_CASE("rotary embedding turns pairs by their angle and back again", "[kernels]") {
  const std::int64_t batch = 2, length = 5, heads = 3, dim = 8, row = 40;
  const auto values = random_values(batch * length * row, 1);
  Operand x(values);
  RopeCall call{batch, length, heads, dim, row, 10000.0f, false, x.view()};
  launch::rope(nullptr, call);
  std::vector<double> expected(values.begin(), values.end());
  for (std::int64_t token = 0; token < batch * length; ++token)
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t i = 0; i < dim / 2; ++i) {
        const double angle =
            static_cast<double>(token % length) /
            std::pow(10000.0, 2.0 * static_cast<double>(i) / static_cast<double>(dim));
        const auto at = static_cast<std::size_t>(token * row + head * dim + i);
        const double a = expected[at], b = expected[at + 4];
        expected[at] = a * std::cos(angle) - b * std::sin(angle);
        expected[at + 4] = a * std::sin(angle) + b * std::cos(angle);
      }
  require_close(x.read(), expected, 1e-5, 1e-5);
  call.is_backward = true;
  launch::rope(nullptr, call);
  require_close(x.read(), std::vector<double>(values.begin(), values.end()), 1e-5, 1e-5);
}
TEST_CASE("additions casts scaling column sums and packing do what they say", "[kernels]") {
  std::vector<float> a{1, 2, 3, 4, 5, 6}, b{10, 20, 30, 40, 50, 60}, bias{100, 200, 300}, y(6),
      sums{1, 1, 1};
  launch::add(nullptr, View{a.data()}, View{b.data()}, View{bias.data()}, View{y.data()}, 2, 3);
  REQUIRE(y == std::vector<float>{111, 222, 333, 144, 255, 366});
  launch::accumulate(nullptr, View{a.data()}, View{y.data()}, 6);
  REQUIRE(y == std::vector<float>{112, 224, 336, 148, 260, 372});
  under_each_schedule([&] {
    sums = {1, 1, 1};
    launch::column_sum(nullptr, View{a.data()}, View{sums.data()}, 2, 3);
    REQUIRE(sums == std::vector<float>{6, 8, 10});
  });
  std::vector<std::uint16_t> narrow(6);
  launch::cast(nullptr, View{a.data()}, View{narrow.data(), Precision::bf16}, 6);
  launch::scale(nullptr, View{narrow.data(), Precision::bf16}, 0.5f, 6);
  launch::cast(nullptr, View{narrow.data(), Precision::bf16}, View{y.data()}, 6);
  REQUIRE(y == std::vector<float>{0.5f, 1, 1.5f, 2, 2.5f, 3});
  std::vector<float> q{1, 2, 3, 4}, k{5, 6}, v{7, 8}, packed(8);
  launch::pack_qkv(nullptr, View{q.data()}, View{k.data()}, View{v.data()}, View{packed.data()}, 2,
                   2, 1);
  REQUIRE(packed == std::vector<float>{1, 2, 5, 7, 3, 4, 6, 8});
}
