#pragma once
#include "runtime/kernels/reduce.cuh"

/// Layer norm (Ba 2016) and RMS norm (Zhang, Sennrich 2019): a block per row, statistics in fp32.
namespace stepcast::runtime {
inline constexpr float kNormEpsilon = 1e-5f;  // of GPT-2 and Llama

template <class T>
__global__ void __launch_bounds__(kThreads)
    norm_forward_kernel(bool is_layer, const T* x, const T* weight, const T* bias, T* y,
                        float* mean, float* rstd, std::int64_t width) {
  __shared__ float shared[32];
  const std::int64_t row = blockIdx.x, base = row * width;
  const float inverse = 1.0f / static_cast<float>(width);
  float m = 0.0f;
  if (is_layer) {
    for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) m += value_of(x[base + i]);
    m = block_sum(m, shared) * inverse;
  }
  float squares = 0.0f;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const float d = value_of(x[base + i]) - m;
    squares += d * d;
  }
  const float r = rsqrtf(block_sum(squares, shared) * inverse + kNormEpsilon);
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const float normal = (value_of(x[base + i]) - m) * r * value_of(weight[i]);
    store(y + base + i, is_layer ? normal + value_of(bias[i]) : normal);
  }
  if (threadIdx.x == 0) {
    if (is_layer) mean[row] = m;
    rstd[row] = r;
  }
}

/// With xhat = (x - mean) rstd and g = dy weight:  dx = rstd (g - mean(g) - xhat mean(g xhat)); rms
/// norm has no mean(g).
template <class T>
__global__ void __launch_bounds__(kThreads)
    norm_backward_kernel(bool is_layer, const T* x, const T* weight, const float* mean,
                         const float* rstd, const T* dy, T* dx, std::int64_t width) {
  __shared__ float shared[32];
  const std::int64_t row = blockIdx.x, base = row * width;
  const float m = is_layer ? mean[row] : 0.0f, r = rstd[row],
              inverse = 1.0f / static_cast<float>(width);
  float sum_g = 0.0f, sum_gx = 0.0f;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const float g = value_of(dy[base + i]) * value_of(weight[i]);
    sum_g += g;
    sum_gx += g * (value_of(x[base + i]) - m) * r;
  }
  const float mean_g = is_layer ? block_sum(sum_g, shared) * inverse : 0.0f;
  const float mean_gx = block_sum(sum_gx, shared) * inverse;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const float g = value_of(dy[base + i]) * value_of(weight[i]);
    store(dx + base + i, r * (g - mean_g - (value_of(x[base + i]) - m) * r * mean_gx));
  }
}

/// dweight += sum over rows of dy xhat, dbias += sum of dy. A block owns 32 columns; 8 threads
/// share a column's rows, then are added in order, so the result does not depend on the schedule.
template <class T>
__global__ void __launch_bounds__(kThreads)
    norm_weight_kernel(bool is_layer, const T* x, const float* mean, const float* rstd, const T* dy,
                       float* dweight, float* dbias, std::int64_t rows, std::int64_t width) {
  __shared__ float weights[8][33], biases[8][33];
  const unsigned lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  float sum = 0.0f, sum_x = 0.0f;
  if (column < width)
    for (std::int64_t row = part; row < rows; row += 8) {
      const float d = value_of(dy[row * width + column]);
      sum += d;
      sum_x += d * (value_of(x[row * width + column]) - (is_layer ? mean[row] : 0.0f)) * rstd[row];
    }
  weights[part][lane] = sum_x;
  biases[part][lane] = sum;
  __syncthreads();
  if (part != 0 || column >= width) return;
  for (int i = 1; i < 8; ++i) {
    sum_x += weights[i][lane];
    sum += biases[i][lane];
  }
  dweight[column] += sum_x;
  if (is_layer) dbias[column] += sum;
}
}  // namespace stepcast::runtime
