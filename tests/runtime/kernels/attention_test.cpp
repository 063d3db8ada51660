#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
/// Attention and its gradient from the definition, all scores at once.
struct Plain {
  std::vector<double> y, lse, dq, dk, dv;
  Plain(const AttentionCall& a, const Operand& qkv, const Operand& dy) {
    const std::int64_t row = (a.heads + 2 * a.kv_heads) * a.head_dim, d = a.head_dim;
    y.assign(static_cast<std::size_t>(a.batch * a.length * a.heads * d), 0);
    dq = y;
    dk.assign(static_cast<std::size_t>(a.batch * a.length * a.kv_heads * d), 0);
    dv = dk;
    for (std::int64_t b = 0; b < a.batch; ++b)
      for (std::int64_t h = 0; h < a.heads; ++h)
        for (std::int64_t i = 0; i < a.length; ++i) {
          const std::int64_t kv = h / (a.heads / a.kv_heads), keys = a.causal ? i + 1 : a.length,
                             out = ((b * a.length + i) * a.heads + h) * d;
          const auto at = [&](std::int64_t token, std::int64_t head, std::int64_t c) {
            return (b * a.length + token) * row + head * d + c;
          };
          std::vector<double> p(static_cast<std::size_t>(keys));
          double sum = 0, delta = 0;
          for (std::int64_t j = 0; j < keys; ++j) {
            double s = 0;
            for (std::int64_t c = 0; c < d; ++c)
              s += qkv[at(i, h, c)] * qkv[at(j, a.heads + kv, c)];
            p[static_cast<std::size_t>(j)] = std::exp(s / std::sqrt(static_cast<double>(d)));
            sum += p[static_cast<std::size_t>(j)];
          }
          lse.push_back(std::log(sum));
          std::vector<double> dp(p.size());
          for (std::size_t j = 0; j < p.size(); ++j) {
            p[j] /= sum;
            for (std::int64_t c = 0; c < d; ++c) {
              const double v = qkv[at(static_cast<std::int64_t>(j), a.heads + a.kv_heads + kv, c)];
              y[static_cast<std::size_t>(out + c)] += p[j] * v;
              dp[j] += dy[out + c] * v;
            }
            delta += p[j] * dp[j];
          }
          for (std::size_t j = 0; j < p.size(); ++j) {
            const double ds = p[j] * (dp[j] - delta) / std::sqrt(static_cast<double>(d));
            const std::int64_t key =
                ((b * a.length + static_cast<std::int64_t>(j)) * a.kv_heads + kv) * d;
            for (std::int64_t c = 0; c < d; ++c) {
              dq[static_cast<std::size_t>(out + c)] +=
                  ds * qkv[at(static_cast<std::int64_t>(j), a.heads + kv, c)];
              dk[static_cast<std::size_t>(key + c)] += ds * qkv[at(i, h, c)];
              dv[static_cast<std::size_t>(key + c)] += p[j] * dy[out + c];
            }
          }
        }
  }
};

void check(std::int64_t batch, std::int64_t length, std::int64_t heads, std::int64_t kv_heads,
           std::int64_t dim, bool causal, Precision precision) {
  AttentionCall a{batch, length, heads, kv_heads, dim, causal};
  const std::int64_t queries = batch * length * heads * dim, keys = batch * length * kv_heads * dim;
  Operand qkv(random_values(batch * length * (heads + 2 * kv_heads) * dim, 1), precision),
      dy(random_values(queries, 2), precision);
  const Plain plain(a, qkv, dy);
  Operand y = zeros(queries, precision), dq = zeros(queries, precision),
          dk = zeros(keys, precision), dv = zeros(keys, precision);
  Operand lse = zeros(batch * heads * length),
          workspace = zeros(launch::attention_workspace(a) / 4);
  a.qkv = qkv.view(), a.y = y.view(), a.lse = lse.view(), a.dy = dy.view(), a.dq = dq.view(),
  a.dk = dk.view(), a.dv = dv.view();
  a.workspace = workspace.view();
  launch::attention_forward(nullptr, a);
  launch::attention_backward(nullptr, a);
  const bool is_narrow = precision == Precision::bf16;
  require_close(lse.read(), plain.lse, 1e-5, 1e-4);
  require_close(y.read(), plain.y, tolerance_of(precision), is_narrow ? 2e-3 : 1e-5);
  require_close(dq.read(), plain.dq, tolerance_of(precision), is_narrow ? 1e-2 : 2e-5);
  require_close(dk.read(), plain.dk, tolerance_of(precision), is_narrow ? 1e-2 : 5e-5);
  require_close(dv.read(), plain.dv, tolerance_of(precision), is_narrow ? 1e-2 : 5e-5);
}
}  // namespace

TEST_CASE(
    "flash attention agrees with the definition for grouped heads and lengths that are no multiple "
    "of a tile",
    "[kernels]") {
  under_each_schedule([] { check(2, 37, 4, 2, 16, true, Precision::fp32); });
}
TEST_CASE(
    "flash attention agrees with the definition without a mask and for head sizes between the "
    "compiled ones",
    "[kernels]") {
  check(1, 20, 1, 1, 40, false, Precision::fp32);
  check(1, 33, 2, 1, 96, true, Precision::fp32);
}
TEST_CASE("flash attention in bf16 stays within the precision of its inputs", "[kernels]") {
  check(1, 33, 2, 2, 32, true, Precision::bf16);
}
TEST_CASE("attention of one token returns its value", "[kernels]") {
  check(1, 1, 2, 2, 8, true, Precision::fp32);
}
