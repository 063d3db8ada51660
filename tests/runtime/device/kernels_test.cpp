#include "tests/runtime/device/on_device.hpp"

namespace stepcast::runtime::test {
namespace {
using Doubles = std::vector<double>;
// fp32 sums of a few hundred terms against double: rounding of 1e-7 per term, largest over all
// results.
constexpr double kClose = 2e-5;
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
}  // namespace

TEST_CASE("a product takes either operand transposed and adds where it accumulates",
          "[runtime][kernels]") {
  OnDevice on;
  const std::int64_t m = 37, n = 70, k = 51;
  const auto a = normal_numbers(m * k, 1), b = normal_numbers(k * n, 2),
             c = normal_numbers(m * n, 3), bias = normal_numbers(n, 4);
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const bool accumulates : {false, true}) {
        const View out = on.put(c);
        on.kernels().gemm(on.stream(), {.a = on.put(a),
                                        .b = on.put(b),
                                        .c = out,
                                        .m = m,
                                        .n = n,
                                        .k = k,
                                        .a_transposed = ta,
                                        .b_transposed = tb,
                                        .accumulates = accumulates,
                                        .bias = accumulates ? View{} : on.put(bias)});
        Doubles wanted;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = accumulates ? static_cast<double>(c[at(i * n + j)])
                                     : static_cast<double>(bias[at(j)]);
            for (std::int64_t p = 0; p < k; ++p)
              sum += static_cast<double>(a[at(ta ? p * m + i : i * k + p)]) *
                     static_cast<double>(b[at(tb ? j * k + p : p * n + j)]);
            wanted.push_back(sum);
          }
        REQUIRE(relative_error(on.get(out, m * n), wanted) < kClose);
      }
}

TEST_CASE("norms follow their formulas and their gradients", "[runtime][kernels]") {
  OnDevice on;
  const std::int64_t rows = 9, width = 130;
  const auto x = normal_numbers(rows * width, 1), weight = normal_numbers(width, 2),
             bias = normal_numbers(width, 3), dy = normal_numbers(rows * width, 4);
  for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm}) {
    NormCall call{.kind = kind,
                  .rows = rows,
                  .width = width,
                  .x = on.put(x),
                  .weight = on.put(weight),
                  .bias = on.put(bias),
                  .mean = on.zeros(rows),
                  .rstd = on.zeros(rows),
                  .y = on.zeros(rows * width),
                  .dy = on.put(dy),
                  .dx = on.zeros(rows * width),
                  .dweight = on.zeros(width),
                  .dbias = on.zeros(width)};
    on.kernels().norm_forward(on.stream(), call);
    on.kernels().norm_backward(on.stream(), call);
    Doubles y, dx, dweight(at(width), 0.0), dbias(at(width), 0.0);
    for (std::int64_t r = 0; r < rows; ++r) {
      const float *row = x.data() + r * width, *grad = dy.data() + r * width;
      double mean = 0, variance = 0, mean_g = 0, mean_gx = 0;
      const bool centred = kind == NormKind::layernorm;
      for (std::int64_t i = 0; i < width && centred; ++i)
        mean += static_cast<double>(row[i]) / static_cast<double>(width);
      for (std::int64_t i = 0; i < width; ++i)
        variance += (static_cast<double>(row[i]) - mean) * (static_cast<double>(row[i]) - mean) /
                    static_cast<double>(width);
      const double rstd = 1 / std::sqrt(variance + 1e-5);
      const auto xhat = [&](std::int64_t i) { return (static_cast<double>(row[i]) - mean) * rstd; };
      const auto g = [&](std::int64_t i) {
        return static_cast<double>(grad[i]) * static_cast<double>(weight[at(i)]);
      };
      for (std::int64_t i = 0; i < width; ++i) {
        y.push_back(xhat(i) * static_cast<double>(weight[at(i)]) +
                    (centred ? static_cast<double>(bias[at(i)]) : 0));
        mean_g += centred ? g(i) / static_cast<double>(width) : 0;
        mean_gx += g(i) * xhat(i) / static_cast<double>(width);
        dweight[at(i)] += static_cast<double>(grad[i]) * xhat(i);
        dbias[at(i)] += static_cast<double>(grad[i]);
      }
      for (std::int64_t i = 0; i < width; ++i)
        dx.push_back(rstd * (g(i) - mean_g - xhat(i) * mean_gx));
    }
    REQUIRE(relative_error(on.get(call.y, rows * width), y) < kClose);
    REQUIRE(relative_error(on.get(call.dx, rows * width), dx) < kClose);
    REQUIRE(relative_error(on.get(call.dweight, width), dweight) < kClose);
    if (kind == NormKind::layernorm)
      REQUIRE(relative_error(on.get(call.dbias, width), dbias) < kClose);
  }
}

TEST_CASE("activations follow their formulas and the slope of a double-precision difference",
          "[runtime][kernels]") {
  OnDevice on;
  const std::int64_t rows = 5, width = 33;
  for (const ActivationKind kind :
       {ActivationKind::gelu, ActivationKind::swiglu, ActivationKind::relu}) {
    const std::int64_t in = kind == ActivationKind::swiglu ? 2 * width : width;
    const auto x = normal_numbers(rows * in, 1, 2), bias = normal_numbers(in, 2),
               dy = normal_numbers(rows * width, 3);
    ActivationCall call{.kind = kind,
                        .rows = rows,
                        .width = width,
                        .x = on.put(x),
                        .bias = on.put(bias),
                        .y = on.zeros(rows * width),
                        .dy = on.put(dy),
                        .dx = on.zeros(rows * in)};
    on.kernels().activation_forward(on.stream(), call);
    on.kernels().activation_backward(on.stream(), call);
    const auto value = [&](double v, double up) {
      if (kind == ActivationKind::relu) return std::max(0.0, v);
      if (kind == ActivationKind::swiglu) return v / (1 + std::exp(-v)) * up;
      return 0.5 * v *
             (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (v + 0.044715 * v * v * v)));
    };
    Doubles y, dx(at(rows * in));
    constexpr double h = 1e-5;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < width; ++i) {
        const double v = static_cast<double>(x[at(r * in + i)] + bias[at(i)]);
        const double up = kind == ActivationKind::swiglu
                              ? static_cast<double>(x[at(r * in + width + i)] + bias[at(width + i)])
                              : 1;
        const double g = static_cast<double>(dy[at(r * width + i)]);
        y.push_back(value(v, up));
        dx[at(r * in + i)] = g * (value(v + h, up) - value(v - h, up)) / (2 * h);
        if (kind == ActivationKind::swiglu)
          dx[at(r * in + width + i)] = g * (value(v, up + h) - value(v, up - h)) / (2 * h);
      }
    REQUIRE(relative_error(on.get(call.y, rows * width), y) < kClose);
    REQUIRE(relative_error(on.get(call.dx, rows * in), dx) < 1e-4);
  }
}

TEST_CASE("cross-entropy gives the loss of a softmax and p minus one-hot and ignores padding",
          "[runtime][kernels]") {
  OnDevice on;
  const std::int64_t rows = 7, width = 64, valid = 50;
  const auto logits = normal_numbers(rows * width, 1, 3);
  std::vector<std::int32_t> targets;
  for (std::int64_t r = 0; r < rows; ++r)
    targets.push_back(static_cast<std::int32_t>((7 * r + 3) % valid));
  Doubles losses, gradient;
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t i = 0; i < valid; ++i)
      sum += std::exp(static_cast<double>(logits[at(r * width + i)]));
    losses.push_back(std::log(sum) - static_cast<double>(logits[at(r * width + targets[at(r)])]));
    for (std::int64_t i = 0; i < width; ++i)
      gradient.push_back(
          0.25 * ((i < valid ? std::exp(static_cast<double>(logits[at(r * width + i)])) / sum : 0) -
                  (i == targets[at(r)] ? 1 : 0)));
  }
  const View whole = on.put(logits), out = on.zeros(rows), ids = on.put(targets);
  on.kernels().loss_forward(on.stream(), whole, ids, out, rows, width, valid);
  on.kernels().loss_backward(on.stream(), whole, ids, 0.25f, rows, width);
  REQUIRE(relative_error(on.get(out, rows), losses) < kClose);
  REQUIRE(relative_error(on.get(whole, rows * width), gradient) < kClose);

  // Two halves of the vocabulary, statistics joined by hand: the same losses and the same
  // gradients.
  const std::int64_t half = width / 2;
  std::vector<std::vector<float>> part(2), maxima, sums;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < width; ++i)
      part[i < half ? 0 : 1].push_back(logits[at(r * width + i)]);
  std::vector<View> view, sum_view;
  for (const std::int64_t p : {0, 1}) {
    view.push_back(on.put(part[at(p)]));
    const View maximum = on.zeros(rows);
    on.kernels().split_loss_max(on.stream(), view.back(), maximum, rows, half,
                                p == 0 ? half : valid - half);
    maxima.push_back(on.get(maximum, rows));
  }
  for (std::int64_t r = 0; r < rows; ++r)
    maxima[0][at(r)] = std::max(maxima[0][at(r)], maxima[1][at(r)]);
  const View maximum = on.put(maxima[0]);
  for (const std::int64_t p : {0, 1}) {
    sum_view.push_back(on.zeros(2 * rows));
    on.kernels().split_loss_sum(on.stream(), view[at(p)], ids, maximum, sum_view.back(), rows, half,
                                p * half, p == 0 ? half : valid - half);
    sums.push_back(on.get(sum_view.back(), 2 * rows));
  }
  for (std::size_t i = 0; i < sums[0].size(); ++i) sums[0][i] += sums[1][i];
  const View joined_sums = on.put(sums[0]);
  for (const std::int64_t p : {0, 1}) {
    on.kernels().split_loss_finish(on.stream(), view[at(p)], maximum, joined_sums, out, rows, half,
                                   p * half, p == 0 ? half : valid - half);
    REQUIRE(relative_error(on.get(out, rows), losses) < kClose);
    on.kernels().split_loss_backward(on.stream(), view[at(p)], ids, 0.25f, rows, half, p * half);
    Doubles wanted;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < half; ++i)
        wanted.push_back(gradient[at(r * width + p * half + i)]);
    REQUIRE(relative_error(on.get(view[at(p)], rows * half), wanted) < kClose);
  }
}

TEST_CASE("a clip brings the global norm to the limit and leaves small gradients alone",
          "[runtime][kernels]") {
  OnDevice on;
  // 10000 elements of 0.03: norm = 0.03 * 100 = 3. Limit 1: each becomes 0.01.
  const View x = on.put(std::vector<float>(10000, 0.03f)), sum = on.zeros(1);
  on.kernels().square_sum(on.stream(), x, sum, 10000);
  REQUIRE(on.get(sum, 1)[0] ==
          Approx(9.0f).epsilon(1e-4));  // equal terms round the same way, 256 times per lane
  on.kernels().clip(on.stream(), x, sum, 5.0f, 10000);
  REQUIRE(on.get(x, 10000)[77] == Approx(0.03f));
  on.kernels().clip(on.stream(), x, sum, 1.0f, 10000);
  REQUIRE(on.get(x, 10000)[9999] == Approx(0.01f));
}

TEST_CASE("AdamW's first step moves each weight by the rate against the gradient's sign",
          "[runtime][kernels]") {
  OnDevice on;
  // Step 1: m / (1 - beta1) = g, v / (1 - beta2) = g^2, so the update is rate * sign(g), and decay
  // takes rate * 0.1 * w.
  const View w = on.put(std::vector<float>{1.0f, -2.0f, 0.5f}),
             g = on.put(std::vector<float>{0.3f, -0.001f, 20.0f});
  const View m = on.zeros(3), v = on.zeros(3);
  on.kernels().adam(on.stream(), {.elements = 3,
                                  .master = w,
                                  .gradient = g,
                                  .first = m,
                                  .second = v,
                                  .weights = w,
                                  .learning_rate = 0.01f,
                                  .weight_decay = 0.1f,
                                  .step = 1});
  const auto got = on.get(w, 3);
  REQUIRE(got[0] == Approx(1.0f * 0.999f - 0.01f).epsilon(1e-5));
  REQUIRE(got[1] == Approx(-2.0f * 0.999f + 0.01f).epsilon(1e-4));
  REQUIRE(got[2] == Approx(0.5f * 0.999f - 0.01f).epsilon(1e-5));
}

TEST_CASE("embedding reads rows of its share and its gradient adds repeated tokens",
          "[runtime][kernels]") {
  OnDevice on;
  const View ids = on.put(std::vector<std::int32_t>{5, 4, 9, 5}),
             table = on.put(std::vector<float>{40, 41, 50, 51});
  const View y = on.put(std::vector<float>(8, 7.0f));
  on.kernels().embedding_forward(on.stream(), ids, table, y, 4, 2, 4, 2);  // rows 4 and 5 live here
  REQUIRE(on.get(y, 8) == std::vector<float>{50, 51, 40, 41, 0, 0, 50, 51});
  const View dy = on.put(std::vector<float>{1, 2, 3, 4, 5, 6, 10, 20}),
             dtable = on.put(std::vector<float>(4, 99.0f));
  on.kernels().embedding_backward(on.stream(), ids, dy, dtable, 4, 2, 4, 2);
  REQUIRE(on.get(dtable, 4) == std::vector<float>{3, 4, 11, 22});
}

TEST_CASE("interaction pairs the vectors and its gradient matches differences",
          "[runtime][kernels]") {
  OnDevice on;
  const std::int64_t samples = 3, features = 4, width = 5, pairs = 6;
  const auto z = normal_numbers(samples * features * width, 1),
             dy = normal_numbers(samples * (width + pairs), 2);
  const View zs = on.put(z), y = on.zeros(samples * (width + pairs)),
             dz = on.zeros(samples * features * width);
  on.kernels().interaction_forward(on.stream(), zs, y, samples, features, width);
  on.kernels().interaction_backward(on.stream(), zs, on.put(dy), dz, samples, features, width);
  const auto value = [&](const Doubles& v) {  // sum of y dy, in double
    double sum = 0;
    for (std::int64_t s = 0; s < samples; ++s) {
      const double* x = v.data() + s * features * width;
      const float* g = dy.data() + s * (width + pairs);
      for (std::int64_t i = 0; i < width; ++i) sum += x[i] * static_cast<double>(g[i]);
      std::int64_t pair = width;
      for (std::int64_t i = 1; i < features; ++i)
        for (std::int64_t j = 0; j < i; ++j, ++pair)
          for (std::int64_t d = 0; d < width; ++d)
            sum += x[i * width + d] * x[j * width + d] * static_cast<double>(g[pair]);
    }
    return sum;
  };
  Doubles base(z.begin(), z.end()), wanted;
  for (std::size_t i = 0; i < base.size(); ++i) {
    Doubles up = base, down = base;
    up[i] += 1e-4, down[i] -= 1e-4;
    wanted.push_back((value(up) - value(down)) / 2e-4);
  }
  REQUIRE(relative_error(on.get(dz, samples * features * width), wanted) < kClose);
}
}  // namespace stepcast::runtime::test
