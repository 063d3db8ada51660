#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"

namespace stepcast::runtime {
namespace {
STEPCAST_CLONES
float maximum_of(const float* x, std::int64_t n) {
  float maximum = x[0];
  for (std::int64_t i = 1; i < n; ++i) maximum = std::max(maximum, x[i]);
  return maximum;
}
/// x = e^(x - maximum); returns the sum.
STEPCAST_CLONES
float exponentials(float* x, float maximum, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = exp_of(x[i] - maximum);
    sum += x[i];
  }
  return sum;
}
STEPCAST_CLONES
void multiply(float* x, float factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}
}  // namespace

void CpuKernels::loss_forward(Stream& stream, View logits, View targets, View losses,
                              std::int64_t rows, std::int64_t width, std::int64_t valid) {
  cpu(stream).enqueue([=] {
    for (std::int64_t row = 0; row < rows; ++row) {
      float* x = f32(logits) + row * width;
      const float target = x[i32(targets)[row]], maximum = maximum_of(x, valid),
                  sum = exponentials(x, maximum, valid);
      multiply(x, 1.0f / sum, valid);
      std::fill(x + valid, x + width, 0.0f);
      f32(losses)[row] = std::log(sum) + maximum - target;
    }
  });
}
void CpuKernels::loss_backward(Stream& stream, View probabilities, View targets, float scale,
                               std::int64_t rows, std::int64_t width) {
  split_loss_backward(stream, probabilities, targets, scale, rows, width, 0);
}

void CpuKernels::split_loss_max(Stream& stream, View logits, View maxima, std::int64_t rows,
                                std::int64_t width, std::int64_t valid) {
  cpu(stream).enqueue([=] {
    for (std::int64_t row = 0; row < rows; ++row)
      f32(maxima)[row] = valid > 0 ? maximum_of(f32(logits) + row * width, valid) : -3.0e38f;
  });
}
void CpuKernels::split_loss_sum(Stream& stream, View logits, View targets, View maxima, View sums,
                                std::int64_t rows, std::int64_t width, std::int64_t first,
                                std::int64_t valid) {
  cpu(stream).enqueue([=] {
    for (std::int64_t row = 0; row < rows; ++row) {
      float* x = f32(logits) + row * width;
      const std::int64_t target = i32(targets)[row] - first;
      f32(sums)[2 * row + 1] = target >= 0 && target < valid ? x[target] - f32(maxima)[row] : 0.0f;
      f32(sums)[2 * row] = exponentials(x, f32(maxima)[row], valid);
      std::fill(x + valid, x + width, 0.0f);
    }
  });
}
void CpuKernels::split_loss_finish(Stream& stream, View logits, View /*maxima*/, View sums,
                                   View losses, std::int64_t rows, std::int64_t width,
                                   std::int64_t /*first*/, std::int64_t valid) {
  cpu(stream).enqueue([=] {
    for (std::int64_t row = 0; row < rows; ++row) {
      multiply(f32(logits) + row * width, 1.0f / f32(sums)[2 * row], valid);
      f32(losses)[row] = std::log(f32(sums)[2 * row]) - f32(sums)[2 * row + 1];
    }
  });
}
void CpuKernels::split_loss_backward(Stream& stream, View probabilities, View targets, float scale,
                                     std::int64_t rows, std::int64_t width, std::int64_t first) {
  cpu(stream).enqueue([=] {
    for (std::int64_t row = 0; row < rows; ++row) {
      float* p = f32(probabilities) + row * width;
      const std::int64_t target = i32(targets)[row] - first;
      if (target >= 0 && target < width) p[target] -= 1.0f;
      multiply(p, scale, width);
    }
  });
}

void CpuKernels::binary_loss(Stream& stream, View logits, View targets, View losses, View dlogits,
                             std::int64_t samples, float scale) {
  cpu(stream).enqueue([=] {
    for (std::int64_t i = 0; i < samples; ++i) {
      const float y = f32(targets)[i], z = -y * f32(logits)[i];
      // log(1 + e^z) without overflow.
      f32(losses)[i] = std::max(z, 0.0f) + std::log1p(std::exp(-std::abs(z)));
      f32(dlogits)[i] = -y * sigmoid_of(z) * scale;
    }
  });
}
}  // namespace stepcast::runtime
