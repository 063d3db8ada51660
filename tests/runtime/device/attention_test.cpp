#include "tests/runtime/device/on_device.hpp"

namespace stepcast::runtime::test {
namespace {
using Doubles = std::vector<double>;
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
struct Shape {
  std::int64_t B, T, H, K, D;
  bool causal;
};

/// Plain attention in double, forward and backward, as the textbook writes it.
struct Reference {
  Doubles y, dqkv;
  Reference(const Shape& s, const std::vector<float>& qkv, const std::vector<float>& dy) {
    const std::int64_t row = (s.H + 2 * s.K) * s.D, out = s.H * s.D;
    y.assign(at(s.B * s.T * out), 0.0);
    dqkv.assign(qkv.size(), 0.0);
    const double scale = 1 / std::sqrt(static_cast<double>(s.D));
    for (std::int64_t b = 0; b < s.B; ++b)
      for (std::int64_t h = 0; h < s.H; ++h) {
        const std::int64_t group = h / (s.H / s.K);
        const auto q = [&](std::int64_t t, std::int64_t d) {
          return at((b * s.T + t) * row + h * s.D + d);
        };
        const auto k = [&](std::int64_t t, std::int64_t d) {
          return at((b * s.T + t) * row + (s.H + group) * s.D + d);
        };
        const auto v = [&](std::int64_t t, std::int64_t d) {
          return at((b * s.T + t) * row + (s.H + s.K + group) * s.D + d);
        };
        const auto o = [&](std::int64_t t, std::int64_t d) {
          return at((b * s.T + t) * out + h * s.D + d);
        };
        for (std::int64_t i = 0; i < s.T; ++i) {
          const std::int64_t keys = s.causal ? i + 1 : s.T;
          Doubles p(at(keys), 0.0), dp(at(keys), 0.0);
          double sum = 0, delta = 0;
          for (std::int64_t j = 0; j < keys; ++j) {
            double score = 0;
            for (std::int64_t d = 0; d < s.D; ++d)
              score += static_cast<double>(qkv[q(i, d)]) * static_cast<double>(qkv[k(j, d)]);
            p[at(j)] = std::exp(score * scale);
            sum += p[at(j)];
          }
          for (std::int64_t j = 0; j < keys; ++j) {
            p[at(j)] /= sum;
            for (std::int64_t d = 0; d < s.D; ++d) {
              y[o(i, d)] += p[at(j)] * static_cast<double>(qkv[v(j, d)]);
              dp[at(j)] += static_cast<double>(dy[o(i, d)]) * static_cast<double>(qkv[v(j, d)]);
              dqkv[v(j, d)] += p[at(j)] * static_cast<double>(dy[o(i, d)]);
            }
            delta += p[at(j)] * dp[at(j)];
          }
          for (std::int64_t j = 0; j < keys; ++j)
            for (std::int64_t d = 0; d < s.D; ++d) {
              const double ds = p[at(j)] * (dp[at(j)] - delta) * scale;
              dqkv[q(i, d)] += ds * static_cast<double>(qkv[k(j, d)]);
              dqkv[k(j, d)] += ds * static_cast<double>(qkv[q(i, d)]);
            }
        }
      }
  }
};
}  // namespace

TEST_CASE("attention and its gradients match the textbook with grouped heads and a causal mask",
          "[runtime][kernels]") {
  // 130 tokens: two full blocks of 64 queries and a rest.
  for (const Shape& s :
       {Shape{2, 130, 4, 2, 8, true}, Shape{1, 64, 2, 2, 16, false}, Shape{1, 7, 3, 1, 4, true}}) {
    OnDevice on;
    const std::int64_t row = (s.H + 2 * s.K) * s.D, tokens = s.B * s.T;
    const auto qkv = normal_numbers(tokens * row, 1), dy = normal_numbers(tokens * s.H * s.D, 2);
    AttentionCall call{.batch = s.B,
                       .length = s.T,
                       .heads = s.H,
                       .kv_heads = s.K,
                       .head_dim = s.D,
                       .causal = s.causal,
                       .qkv = on.put(qkv),
                       .y = on.zeros(tokens * s.H * s.D),
                       .lse = on.zeros(tokens * s.H),
                       .dy = on.put(dy),
                       .dq = on.zeros(tokens * s.H * s.D),
                       .dk = on.zeros(tokens * s.K * s.D),
                       .dv = on.zeros(tokens * s.K * s.D)};
    call.workspace = on.zeros(on.kernels().attention_workspace(call).value / 4);
    on.kernels().attention_forward(on.stream(), call);
    on.kernels().attention_backward(on.stream(), call);
    const View dqkv = on.zeros(tokens * row);
    on.kernels().pack_qkv(on.stream(), call.dq, call.dk, call.dv, dqkv, tokens, s.H * s.D,
                          s.K * s.D);
    const Reference reference(s, qkv, dy);
    REQUIRE(relative_error(on.get(call.y, tokens * s.H * s.D), reference.y) < 2e-5);
    REQUIRE(relative_error(on.get(dqkv, tokens * row), reference.dqkv) < 5e-5);
  }
}

TEST_CASE("rotary positions keep lengths and depend on distance alone and turn back",
          "[runtime][kernels]") {
  OnDevice on;
  const std::int64_t T = 6, D = 8;
  std::vector<float> same;  // the same vector at every position
  const auto vector = normal_numbers(D, 3);
  for (std::int64_t t = 0; t < T; ++t) same.insert(same.end(), vector.begin(), vector.end());
  RopeCall call{.batch = 1, .length = T, .heads = 1, .head_dim = D, .row = D, .x = on.put(same)};
  on.kernels().rope(on.stream(), call);
  const auto turned = on.get(call.x, T * D);
  const auto dot = [&](std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t d = 0; d < D; ++d)
      sum +=
          static_cast<double>(turned[at(a * D + d)]) * static_cast<double>(turned[at(b * D + d)]);
    return sum;
  };
  REQUIRE(dot(5, 5) == Approx(dot(0, 0)).epsilon(1e-5));
  REQUIRE(dot(1, 3) == Approx(dot(3, 5)).epsilon(1e-5));
  REQUIRE(std::abs(dot(0, 1) - dot(0, 2)) > 1e-3);
  call.is_backward = true;
  on.kernels().rope(on.stream(), call);
  REQUIRE(relative_error(on.get(call.x, T * D), same) < 1e-5);
}
}  // namespace stepcast::runtime::test
