#include <cstring>

#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"

namespace stepcast::runtime {
namespace {
STEPCAST_CLONES
void batch_norm(const BatchNormCall* call, const float* x, const float* weight, const float* bias,
                float* y, float* mean, float* rstd) {
  const std::int64_t c = call->channels, rows = call->rows;
  const float inverse = 1.0f / static_cast<float>(rows);
  for (std::int64_t i = 0; i < c; ++i) mean[i] = rstd[i] = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < c; ++i) mean[i] += x[row * c + i];
  for (std::int64_t i = 0; i < c; ++i) mean[i] *= inverse;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < c; ++i)
      rstd[i] += (x[row * c + i] - mean[i]) * (x[row * c + i] - mean[i]);
  for (std::int64_t i = 0; i < c; ++i)
    rstd[i] = 1.0f / std::sqrt(rstd[i] * inverse + call->epsilon);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < c; ++i)
      y[row * c + i] = (x[row * c + i] - mean[i]) * rstd[i] * weight[i] + bias[i];
}
/// Per channel, with xhat = (x - mean) rstd:  dx = weight rstd (dy - mean(dy) - xhat mean(dy
/// xhat)).
STEPCAST_CLONES
void batch_norm_back(const BatchNormCall* call, const float* x, const float* weight,
                     const float* mean, const float* rstd, const float* dy, float* dx, float* sum,
                     float* sum_x) {
  const std::int64_t c = call->channels, rows = call->rows;
  const float inverse = 1.0f / static_cast<float>(rows);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < c; ++i) {
      sum[i] += dy[row * c + i];
      sum_x[i] += dy[row * c + i] * (x[row * c + i] - mean[i]) * rstd[i];
    }
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < c; ++i)
      dx[row * c + i] =
          weight[i] * rstd[i] *
          (dy[row * c + i] - inverse * (sum[i] + (x[row * c + i] - mean[i]) * rstd[i] * sum_x[i]));
}

void max_pool(const PoolCall& p) {
  const std::int64_t out_h = (p.h + 1) / 2, out_w = (p.w + 1) / 2, c = p.channels;
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t oy = 0; oy < out_h; ++oy)
      for (std::int64_t ox = 0; ox < out_w; ++ox) {
        const std::int64_t out = ((n * out_h + oy) * out_w + ox) * c;
        for (std::int64_t i = 0; i < c; ++i) {
          float best = -3.0e38f;
          std::int64_t at = -1;
          for (std::int64_t y = std::max<std::int64_t>(0, 2 * oy - 1);
               y < std::min(p.h, 2 * oy + 2); ++y)
            for (std::int64_t x = std::max<std::int64_t>(0, 2 * ox - 1);
                 x < std::min(p.w, 2 * ox + 2); ++x) {
              const std::int64_t in = ((n * p.h + y) * p.w + x) * c + i;
              if (at < 0 || f32(p.x)[in] > best) best = f32(p.x)[in], at = in;
            }
          f32(p.y)[out + i] = best;
          i32(p.indices)[out + i] = static_cast<std::int32_t>(at);
        }
      }
}
}  // namespace

void CpuKernels::batch_norm_forward(Stream& stream, const BatchNormCall& b) {
  cpu(stream).enqueue([b] {
    batch_norm(&b, f32(b.x), f32(b.weight), f32(b.bias), f32(b.y), f32(b.mean), f32(b.rstd));
  });
}
void CpuKernels::batch_norm_backward(Stream& stream, const BatchNormCall& b) {
  cpu(stream).enqueue([b] {
    std::vector<float> sums(static_cast<std::size_t>(2 * b.channels), 0.0f);
    float *sum = sums.data(), *sum_x = sum + b.channels;
    batch_norm_back(&b, f32(b.x), f32(b.weight), f32(b.mean), f32(b.rstd), f32(b.dy), f32(b.dx),
                    sum, sum_x);
    for (std::int64_t i = 0; i < b.channels; ++i) {
      f32(b.dweight)[i] += sum_x[i];
      f32(b.dbias)[i] += sum[i];
    }
  });
}

void CpuKernels::pool_forward(Stream& stream, const PoolCall& p) {
  cpu(stream).enqueue([p] {
    if (!p.is_global_average) return max_pool(p);
    const std::int64_t positions = p.h * p.w, c = p.channels;
    std::memset(p.y.data, 0, static_cast<std::size_t>(p.n * c) * sizeof(float));
    for (std::int64_t i = 0; i < p.n * positions; ++i)
      for (std::int64_t j = 0; j < c; ++j)
        f32(p.y)[i / positions * c + j] += f32(p.x)[i * c + j] / static_cast<float>(positions);
  });
}
void CpuKernels::pool_backward(Stream& stream, const PoolCall& p) {
  cpu(stream).enqueue([p] {
    const std::int64_t positions = p.h * p.w, c = p.channels;
    if (p.is_global_average) {
      for (std::int64_t i = 0; i < p.n * positions; ++i)
        for (std::int64_t j = 0; j < c; ++j)
          f32(p.dx)[i * c + j] = f32(p.dy)[i / positions * c + j] / static_cast<float>(positions);
      return;
    }
    std::memset(p.dx.data, 0, static_cast<std::size_t>(p.n * positions * c) * sizeof(float));
    const std::int64_t outputs = p.n * ((p.h + 1) / 2) * ((p.w + 1) / 2) * c;
    for (std::int64_t i = 0; i < outputs; ++i) f32(p.dx)[i32(p.indices)[i]] += f32(p.dy)[i];
  });
}
}  // namespace stepcast::runtime
