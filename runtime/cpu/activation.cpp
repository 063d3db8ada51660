#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"

namespace stepcast::runtime {
namespace {
// gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the form GPT-2 uses (Hendrycks 2016).
constexpr float kRoot2OverPi = 0.7978845608f, kCubic = 0.044715f;

STEPCAST_CLONES
void gelu(const float* x, const float* bias, float* y, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width)
    for (std::int64_t i = 0; i < width; ++i) {
      const float v = x[i] + bias[i];
      y[i] = 0.5f * v * (1.0f + tanh_of(kRoot2OverPi * (v + kCubic * v * v * v)));
    }
}
STEPCAST_CLONES
void gelu_back(const float* x, const float* bias, const float* dy, float* dx, std::int64_t rows,
               std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, dy += width, dx += width)
    for (std::int64_t i = 0; i < width; ++i) {
      const float v = x[i] + bias[i];
      const float t = tanh_of(kRoot2OverPi * (v + kCubic * v * v * v));
      dx[i] = dy[i] * (0.5f * (1.0f + t) +
                       0.5f * v * (1.0f - t * t) * kRoot2OverPi * (1.0f + 3.0f * kCubic * v * v));
    }
}
STEPCAST_CLONES
void swiglu(const float* x, const float* bias, float* y, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += 2 * width, y += width)
    for (std::int64_t i = 0; i < width; ++i) {
      const float gate = x[i] + bias[i], up = x[width + i] + bias[width + i];
      y[i] = gate * sigmoid_of(gate) * up;
    }
}
STEPCAST_CLONES
void swiglu_back(const float* x, const float* bias, const float* dy, float* dx, std::int64_t rows,
                 std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += 2 * width, dy += width, dx += 2 * width)
    for (std::int64_t i = 0; i < width; ++i) {
      const float gate = x[i] + bias[i], up = x[width + i] + bias[width + i], s = sigmoid_of(gate);
      dx[i] = dy[i] * up * s * (1.0f + gate * (1.0f - s));
      dx[width + i] = dy[i] * gate * s;
    }
}
STEPCAST_CLONES
void relu(const float* x, const float* bias, float* y, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width)
    for (std::int64_t i = 0; i < width; ++i) y[i] = std::max(0.0f, x[i] + bias[i]);
}
STEPCAST_CLONES
void relu_back(const float* x, const float* bias, const float* dy, float* dx, std::int64_t rows,
               std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, dy += width, dx += width)
    for (std::int64_t i = 0; i < width; ++i) dx[i] = x[i] + bias[i] > 0 ? dy[i] : 0.0f;
}

/// A missing bias is a row of zeros, so that each loop is written once.
template <class Run>
void with_bias(const ActivationCall& a, Run run) {
  const std::int64_t width = a.kind == ActivationKind::swiglu ? 2 * a.width : a.width;
  if (a.bias) return run(f32(a.bias));
  const std::vector<float> zeros(static_cast<std::size_t>(width), 0.0f);
  run(zeros.data());
}
}  // namespace

void CpuKernels::activation_forward(Stream& stream, const ActivationCall& a) {
  cpu(stream).enqueue([a] {
    with_bias(a, [&a](const float* bias) {
      if (a.kind == ActivationKind::gelu)
        gelu(f32(a.x), bias, f32(a.y), a.rows, a.width);
      else if (a.kind == ActivationKind::swiglu)
        swiglu(f32(a.x), bias, f32(a.y), a.rows, a.width);
      else
        relu(f32(a.x), bias, f32(a.y), a.rows, a.width);
    });
  });
}
void CpuKernels::activation_backward(Stream& stream, const ActivationCall& a) {
  cpu(stream).enqueue([a] {
    with_bias(a, [&a](const float* bias) {
      if (a.kind == ActivationKind::gelu)
        gelu_back(f32(a.x), bias, f32(a.dy), f32(a.dx), a.rows, a.width);
      else if (a.kind == ActivationKind::swiglu)
        swiglu_back(f32(a.x), bias, f32(a.dy), f32(a.dx), a.rows, a.width);
      else
        relu_back(f32(a.x), bias, f32(a.dy), f32(a.dx), a.rows, a.width);
    });
  });
}
}  // namespace stepcast::runtime
