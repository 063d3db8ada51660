#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"

namespace stepcast::runtime {
namespace {
constexpr float kEpsilon = 1e-5f;  // of GPT-2 and Llama

STEPCAST_CLONES
void layer_norm(const float* x, const float* weight, const float* bias, float* y, float* mean,
                float* rstd, std::int64_t rows, std::int64_t width) {
  const float inverse = 1.0f / static_cast<float>(width);
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
    float sum = 0, squares = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += x[i];
    const float m = sum * inverse;
    for (std::int64_t i = 0; i < width; ++i) squares += (x[i] - m) * (x[i] - m);
    const float r = 1.0f / std::sqrt(squares * inverse + kEpsilon);
    for (std::int64_t i = 0; i < width; ++i) y[i] = (x[i] - m) * r * weight[i] + bias[i];
    mean[row] = m;
    rstd[row] = r;
  }
}
STEPCAST_CLONES
void rms_norm(const float* x, const float* weight, float* y, float* rstd, std::int64_t rows,
              std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
    float squares = 0;
    for (std::int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
    const float r = 1.0f / std::sqrt(squares / static_cast<float>(width) + kEpsilon);
    for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * r * weight[i];
    rstd[row] = r;
  }
}
/// With xhat = (x - mean) rstd and g = dy weight:  dx = rstd (g - mean(g) - xhat mean(g xhat)).
STEPCAST_CLONES
void layer_norm_back(const float* x, const float* weight, const float* mean, const float* rstd,
                     const float* dy, float* dx, float* dweight, float* dbias, std::int64_t rows,
                     std::int64_t width) {
  const float inverse = 1.0f / static_cast<float>(width);
  for (std::int64_t row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
    const float m = mean[row], r = rstd[row];
    float sum_g = 0, sum_gx = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      const float xhat = (x[i] - m) * r, g = dy[i] * weight[i];
      sum_g += g;
      sum_gx += g * xhat;
      dweight[i] += dy[i] * xhat;
      dbias[i] += dy[i];
    }
    const float mean_g = sum_g * inverse, mean_gx = sum_gx * inverse;
    for (std::int64_t i = 0; i < width; ++i)
      dx[i] = r * (dy[i] * weight[i] - mean_g - (x[i] - m) * r * mean_gx);
  }
}
STEPCAST_CLONES
void rms_norm_back(const float* x, const float* weight, const float* rstd, const float* dy,
                   float* dx, float* dweight, std::int64_t rows, std::int64_t width) {
  const float inverse = 1.0f / static_cast<float>(width);
  for (std::int64_t row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
    const float r = rstd[row];
    float sum_gx = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      const float xhat = x[i] * r;
      sum_gx += dy[i] * weight[i] * xhat;
      dweight[i] += dy[i] * xhat;
    }
    const float mean_gx = sum_gx * inverse;
    for (std::int64_t i = 0; i < width; ++i) dx[i] = r * (dy[i] * weight[i] - x[i] * r * mean_gx);
  }
}
}  // namespace

void CpuKernels::norm_forward(Stream& stream, const NormCall& n) {
  cpu(stream).enqueue([n] {
    if (n.kind == NormKind::layernorm)
      layer_norm(f32(n.x), f32(n.weight), f32(n.bias), f32(n.y), f32(n.mean), f32(n.rstd), n.rows,
                 n.width);
    else
      rms_norm(f32(n.x), f32(n.weight), f32(n.y), f32(n.rstd), n.rows, n.width);
  });
}
void CpuKernels::norm_backward(Stream& stream, const NormCall& n) {
  cpu(stream).enqueue([n] {
    if (n.kind == NormKind::layernorm)
      layer_norm_back(f32(n.x), f32(n.weight), f32(n.mean), f32(n.rstd), f32(n.dy), f32(n.dx),
                      f32(n.dweight), f32(n.dbias), n.rows, n.width);
    else
      rms_norm_back(f32(n.x), f32(n.weight), f32(n.rstd), f32(n.dy), f32(n.dx), f32(n.dweight),
                    n.rows, n.width);
  });
}
}  // namespace stepcast::runtime
