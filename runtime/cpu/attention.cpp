#include <cstring>

#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"
#include "runtime/cpu/sgemm.hpp"

/// Attention in blocks of queries: scores of a block live in cache, the causal half above the
/// diagonal is skipped block by block, and the backward recomputes probabilities from the
/// log-sum-exp (Dao 2022), so nothing of size T x T is kept.
namespace stepcast::runtime {
namespace {
constexpr std::int64_t kBlock =
    64;  // queries: 64 x 1024 scores are 256 KiB, a quarter of a usual L2

STEPCAST_CLONES
void softmax_rows(float* scores, float* lse, std::int64_t rows, std::int64_t keys,
                  std::int64_t first_valid, bool causal) {
  for (std::int64_t row = 0; row < rows; ++row, scores += keys) {
    const std::int64_t valid = causal ? std::min(keys, first_valid + row) : keys;
    float maximum = scores[0];
    for (std::int64_t i = 1; i < valid; ++i) maximum = std::max(maximum, scores[i]);
    float sum = 0;
    for (std::int64_t i = 0; i < valid; ++i) {
      scores[i] = exp_of(scores[i] - maximum);
      sum += scores[i];
    }
    const float inverse = 1.0f / sum;
    for (std::int64_t i = 0; i < valid; ++i) scores[i] *= inverse;
    for (std::int64_t i = valid; i < keys; ++i) scores[i] = 0;
    lse[row] = maximum + std::log(sum);
  }
}
STEPCAST_CLONES
void probabilities_from(float* scores, const float* lse, std::int64_t rows, std::int64_t keys,
                        std::int64_t first_valid, bool causal) {
  for (std::int64_t row = 0; row < rows; ++row, scores += keys) {
    const std::int64_t valid = causal ? std::min(keys, first_valid + row) : keys;
    for (std::int64_t i = 0; i < valid; ++i) scores[i] = exp_of(scores[i] - lse[row]);
    for (std::int64_t i = valid; i < keys; ++i) scores[i] = 0;
  }
}
/// dS = P (dP - delta) scale, over dP.
STEPCAST_CLONES
void score_gradient(const float* p, float* dp, const float* delta, float scale, std::int64_t rows,
                    std::int64_t keys) {
  for (std::int64_t row = 0; row < rows; ++row, p += keys, dp += keys)
    for (std::int64_t i = 0; i < keys; ++i) dp[i] = p[i] * (dp[i] - delta[row]) * scale;
}

struct Head {
  std::int64_t q, k, v, out, kv_out, lse;
};  // element offsets of one head of one sample
Head head_of(const AttentionCall& a, std::int64_t sample, std::int64_t head) {
  const std::int64_t d = a.head_dim, row = (a.heads + 2 * a.kv_heads) * d,
                     group = head / (a.heads / a.kv_heads);
  const std::int64_t base = sample * a.length * row;
  return {base + head * d,
          base + (a.heads + group) * d,
          base + (a.heads + a.kv_heads + group) * d,
          sample * a.length * a.heads * d + head * d,
          sample * a.length * a.kv_heads * d + group * d,
          (sample * a.heads + head) * a.length};
}

void forward_head(const AttentionCall& a, const Head& h, float* scores) {
  const std::int64_t d = a.head_dim, row = (a.heads + 2 * a.kv_heads) * d, out = a.heads * d;
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  const float* qkv = f32(a.qkv);
  for (std::int64_t q0 = 0; q0 < a.length; q0 += kBlock) {
    const std::int64_t rows = std::min(kBlock, a.length - q0),
                       keys = a.causal ? q0 + rows : a.length;
    sgemm(false, true, rows, keys, d, scale, qkv + h.q + q0 * row, row, qkv + h.k, row, 0.0f,
          scores, keys);
    softmax_rows(scores, f32(a.lse) + h.lse + q0, rows, keys, q0 + 1, a.causal);
    sgemm(false, false, rows, d, keys, 1.0f, scores, keys, qkv + h.v, row, 0.0f,
          f32(a.y) + h.out + q0 * out, out);
  }
}

void backward_head(const AttentionCall& a, const Head& h, float* p, float* dp) {
  const std::int64_t d = a.head_dim, row = (a.heads + 2 * a.kv_heads) * d, out = a.heads * d,
                     kv = a.kv_heads * d;
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  const float* qkv = f32(a.qkv);
  float delta[kBlock];
  for (std::int64_t q0 = 0; q0 < a.length; q0 += kBlock) {
    const std::int64_t rows = std::min(kBlock, a.length - q0),
                       keys = a.causal ? q0 + rows : a.length;
    const float *y = f32(a.y) + h.out + q0 * out, *dy = f32(a.dy) + h.out + q0 * out;
    for (std::int64_t i = 0; i < rows; ++i) {
      float sum = 0;
      for (std::int64_t j = 0; j < d; ++j) sum += y[i * out + j] * dy[i * out + j];
      delta[i] = sum;
    }
    sgemm(false, true, rows, keys, d, scale, qkv + h.q + q0 * row, row, qkv + h.k, row, 0.0f, p,
          keys);
    probabilities_from(p, f32(a.lse) + h.lse + q0, rows, keys, q0 + 1, a.causal);
    sgemm(true, false, keys, d, rows, 1.0f, p, keys, dy, out, 1.0f, f32(a.dv) + h.kv_out, kv);
    sgemm(false, true, rows, keys, d, 1.0f, dy, out, qkv + h.v, row, 0.0f, dp, keys);
    score_gradient(p, dp, delta, scale, rows, keys);
    sgemm(false, false, rows, d, keys, 1.0f, dp, keys, qkv + h.k, row, 0.0f,
          f32(a.dq) + h.out + q0 * out, out);
    sgemm(true, false, keys, d, rows, 1.0f, dp, keys, qkv + h.q + q0 * row, row, 1.0f,
          f32(a.dk) + h.kv_out, kv);
  }
}

STEPCAST_CLONES
void rotate(float* x, const float* cosines, const float* sines, std::int64_t heads,
            std::int64_t half) {
  for (std::int64_t head = 0; head < heads; ++head, x += 2 * half)
    for (std::int64_t i = 0; i < half; ++i) {
      const float low = x[i], high = x[half + i];
      x[i] = low * cosines[i] - high * sines[i];
      x[half + i] = high * cosines[i] + low * sines[i];
    }
}
}  // namespace

Bytes CpuKernels::attention_workspace(const AttentionCall& a) const {
  return Bytes(2 * kBlock * a.length * 4);
}

void CpuKernels::attention_forward(Stream& stream, const AttentionCall& a) {
  cpu(stream).enqueue([a] {
    for (std::int64_t sample = 0; sample < a.batch; ++sample)
      for (std::int64_t head = 0; head < a.heads; ++head)
        forward_head(a, head_of(a, sample, head), f32(a.workspace));
  });
}
void CpuKernels::attention_backward(Stream& stream, const AttentionCall& a) {
  cpu(stream).enqueue([a] {
    const auto kv_bytes =
        static_cast<std::size_t>(a.batch * a.length * a.kv_heads * a.head_dim) * sizeof(float);
    std::memset(a.dk.data, 0, kv_bytes);
    std::memset(a.dv.data, 0, kv_bytes);
    for (std::int64_t sample = 0; sample < a.batch; ++sample)
      for (std::int64_t head = 0; head < a.heads; ++head)
        backward_head(a, head_of(a, sample, head), f32(a.workspace),
                      f32(a.workspace) + kBlock * a.length);
  });
}

void CpuKernels::rope(Stream& stream, const RopeCall& r) {
  cpu(stream).enqueue([r] {
    const std::int64_t half = r.head_dim / 2;
    std::vector<float> cosines(static_cast<std::size_t>(half)),
        sines(static_cast<std::size_t>(half));
    for (std::int64_t t = 0; t < r.length; ++t) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(t) / std::pow(static_cast<double>(r.base),
                                                               2.0 * static_cast<double>(i) /
                                                                   static_cast<double>(r.head_dim));
        cosines[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(angle));
        sines[static_cast<std::size_t>(i)] =
            static_cast<float>(r.is_backward ? -std::sin(angle) : std::sin(angle));
      }
      for (std::int64_t sample = 0; sample < r.batch; ++sample)
        rotate(f32(r.x) + (sample * r.length + t) * r.row, cosines.data(), sines.data(), r.heads,
               half);
    }
  });
}

void CpuKernels::pack_qkv(Stream& stream, View dq, View dk, View dv, View dqkv, std::int64_t rows,
                          std::int64_t q, std::int64_t kv) {
  cpu(stream).enqueue([=] {
    const auto bytes = [](std::int64_t elements) {
      return static_cast<std::size_t>(elements) * sizeof(float);
    };
    for (std::int64_t row = 0; row < rows; ++row) {
      float* out = f32(dqkv) + row * (q + 2 * kv);
      std::memcpy(out, f32(dq) + row * q, bytes(q));
      std::memcpy(out + q, f32(dk) + row * kv, bytes(kv));
      std::memcpy(out + q + kv, f32(dv) + row * kv, bytes(kv));
    }
  });
}
}  // namespace stepcast::runtime
