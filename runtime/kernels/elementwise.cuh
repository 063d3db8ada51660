#pragma once
#include "runtime/kernels/reduce.cuh"

namespace stepcast::runtime {
/// tanh form of GELU (Hendrycks, Gimpel 2016).
__device__ __forceinline__ float gelu(float x) {
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}
__device__ __forceinline__ float gelu_slope(float x) {
  const float t = tanhf(0.7978845608f * (x + 0.044715f * x * x * x));
  return 0.5f * (1.0f + t) +
         0.5f * x * (1.0f - t * t) * 0.7978845608f * (1.0f + 3.0f * 0.044715f * x * x);
}
__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

template <class T>
__global__ void pointwise_kernel(bool is_gelu, const T* x, const T* bias, T* y,
                                 std::int64_t elements, std::int64_t width) {
  STEPCAST_EACH(i, elements) {
    const float v = value_of(x[i]) + (bias != nullptr ? value_of(bias[i % width]) : 0.0f);
    store(y + i, is_gelu ? gelu(v) : fmaxf(v, 0.0f));
  }
}
template <class T>
__global__ void pointwise_back_kernel(bool is_gelu, const T* x, const T* bias, const T* dy, T* dx,
                                      std::int64_t elements, std::int64_t width) {
  STEPCAST_EACH(i, elements) {
    const float v = value_of(x[i]) + (bias != nullptr ? value_of(bias[i % width]) : 0.0f);
    store(dx + i, value_of(dy[i]) * (is_gelu ? gelu_slope(v) : v > 0.0f ? 1.0f : 0.0f));
  }
}
/// x = (gate | up), each `width` wide: y = gate sigmoid(gate) up (Shazeer 2020).
template <class T>
__global__ void swiglu_kernel(const T* x, const T* bias, T* y, std::int64_t elements,
                              std::int64_t width) {
  STEPCAST_EACH(i, elements) {
    const std::int64_t row = i / width, column = i % width, at = row * 2 * width + column;
    float gate = value_of(x[at]), up = value_of(x[at + width]);
    if (bias != nullptr) {
      gate += value_of(bias[column]);
      up += value_of(bias[column + width]);
    }
    store(y + i, gate * sigmoid(gate) * up);
  }
}
template <class T>
__global__ void swiglu_back_kernel(const T* x, const T* bias, const T* dy, T* dx,
                                   std::int64_t elements, std::int64_t width) {
  STEPCAST_EACH(i, elements) {
    const std::int64_t row = i / width, column = i % width, at = row * 2 * width + column;
    float gate = value_of(x[at]), up = value_of(x[at + width]);
    if (bias != nullptr) {
      gate += value_of(bias[column]);
      up += value_of(bias[column + width]);
    }
    const float s = sigmoid(gate), d = value_of(dy[i]);
    store(dx + at, d * up * s * (1.0f + gate * (1.0f - s)));
    store(dx + at + width, d * gate * s);
  }
}
template <class T>
__global__ void add_kernel(const T* a, const T* b, const T* bias, T* y, std::int64_t elements,
                           std::int64_t width) {
  STEPCAST_EACH(i, elements)
  store(y + i, value_of(a[i]) + (b != nullptr ? value_of(b[i]) : 0.0f) +
                   (bias != nullptr ? value_of(bias[i % width]) : 0.0f));
}
template <class T>
__global__ void accumulate_kernel(const T* x, float* y, std::int64_t elements) {
  STEPCAST_EACH(i, elements) y[i] += value_of(x[i]);
}
template <class From, class To>
__global__ void cast_kernel(const From* x, To* y, std::int64_t elements) {
  STEPCAST_EACH(i, elements) store(y + i, value_of(x[i]));
}
template <class T>
__global__ void scale_kernel(T* x, float factor, std::int64_t elements) {
  STEPCAST_EACH(i, elements) store(x + i, value_of(x[i]) * factor);
}
/// As norm_weight_kernel: a block owns 32 columns.
template <class T>
__global__ void __launch_bounds__(kThreads)
    column_sum_kernel(const T* x, float* sums, std::int64_t rows, std::int64_t width) {
  __shared__ float parts[8][33];
  const unsigned lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  float sum = 0.0f;
  if (column < width)
    for (std::int64_t row = part; row < rows; row += 8) sum += value_of(x[row * width + column]);
  parts[part][lane] = sum;
  __syncthreads();
  if (part != 0 || column >= width) return;
  for (int i = 1; i < 8; ++i) sum += parts[i][lane];
  sums[column] += sum;
}
/// Pairs (i, i + D/2) turn by position / base^(2i/D) (Su et al. 2021).
template <class T>
__global__ void rope_kernel(T* x, std::int64_t tokens, std::int64_t length, std::int64_t heads,
                            std::int64_t head_dim, std::int64_t row, float base, float sign) {
  const std::int64_t half = head_dim / 2;
  STEPCAST_EACH(i, tokens * heads * half) {
    const std::int64_t pair = i % half, head = i / half % heads, token = i / half / heads,
                       at = token * row + head * head_dim + pair;
    const float frequency =
        exp2f(-log2f(base) * 2.0f * static_cast<float>(pair) / static_cast<float>(head_dim));
    const float angle = static_cast<float>(token % length) * frequency, c = cosf(angle),
                s = sign * sinf(angle);
    const float a = value_of(x[at]), b = value_of(x[at + half]);
    store(x + at, a * c - b * s);
    store(x + at + half, a * s + b * c);
  }
}
template <class T>
__global__ void pack_qkv_kernel(const T* dq, const T* dk, const T* dv, T* dqkv, std::int64_t rows,
                                std::int64_t q, std::int64_t kv) {
  const std::int64_t width = q + 2 * kv;
  STEPCAST_EACH(i, rows * width) {
    const std::int64_t row = i / width, column = i % width;
    dqkv[i] = column < q        ? dq[row * q + column]
              : column < q + kv ? dk[row * kv + column - q]
                                : dv[row * kv + column - q - kv];
  }
}
}  // namespace stepcast::runtime
