#pragma once
#include "runtime/kernels/reduce.cuh"

/// Softmax cross-entropy, a block per row, logits replaced by probabilities; also with the
/// vocabulary split over ranks.
namespace stepcast::runtime {
inline constexpr float kLowest = -3.0e38f;  // maximum of an empty part

template <class T>
__device__ __forceinline__ float row_max(const T* x, std::int64_t valid, float* shared) {
  float maximum = kLowest;
  for (std::int64_t i = threadIdx.x; i < valid; i += blockDim.x)
    maximum = fmaxf(maximum, value_of(x[i]));
  return block_max(maximum, shared);
}
template <class T>
__global__ void __launch_bounds__(kThreads)
    loss_forward_kernel(T* logits, const int* targets, float* losses, std::int64_t width,
                        std::int64_t valid) {
  __shared__ float shared[32];
  const std::int64_t row = blockIdx.x;
  T* x = logits + row * width;
  const float maximum = row_max(x, valid, shared);
  float sum = 0.0f;
  for (std::int64_t i = threadIdx.x; i < valid; i += blockDim.x)
    sum += expf(value_of(x[i]) - maximum);
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) losses[row] = logf(sum) + maximum - value_of(x[targets[row]]);
  __syncthreads();  // the target's logit is read before it becomes a probability
  const float inverse = 1.0f / sum;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x)
    store(x + i, i < valid ? expf(value_of(x[i]) - maximum) * inverse : 0.0f);
}
template <class T>
__global__ void __launch_bounds__(kThreads)
    split_max_kernel(const T* logits, float* maxima, std::int64_t width, std::int64_t valid) {
  __shared__ float shared[32];
  const float maximum = row_max(logits + blockIdx.x * width, valid, shared);
  if (threadIdx.x == 0) maxima[blockIdx.x] = maximum;
}
/// sums (rows, 2): sum of e^(x - maximum) of this rank's columns; the target's exponent, 0 where
/// another rank has the target.
template <class T>
__global__ void __launch_bounds__(kThreads)
    split_sum_kernel(T* logits, const int* targets, const float* maxima, float* sums,
                     std::int64_t width, std::int64_t first, std::int64_t valid) {
  __shared__ float shared[32];
  const std::int64_t row = blockIdx.x, target = targets[row] - first;
  T* x = logits + row * width;
  const float maximum = maxima[row];
  if (threadIdx.x == 0)
    sums[2 * row + 1] = target >= 0 && target < valid ? value_of(x[target]) - maximum : 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const float e = i < valid ? expf(value_of(x[i]) - maximum) : 0.0f;
    sum += e;
    store(x + i, e);
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) sums[2 * row] = sum;
}
template <class T>
__global__ void __launch_bounds__(kThreads)
    split_finish_kernel(T* exponentials, const float* sums, float* losses, std::int64_t width,
                        std::int64_t valid) {
  const std::int64_t row = blockIdx.x;
  const float inverse = 1.0f / sums[2 * row];
  for (std::int64_t i = threadIdx.x; i < valid; i += blockDim.x)
    store(exponentials + row * width + i, value_of(exponentials[row * width + i]) * inverse);
  if (threadIdx.x == 0) losses[row] = logf(sums[2 * row]) - sums[2 * row + 1];
}
template <class T>
__global__ void loss_backward_kernel(T* probabilities, const int* targets, float scale,
                                     std::int64_t rows, std::int64_t width, std::int64_t first) {
  STEPCAST_EACH(i, rows * width) {
    const std::int64_t row = i / width;
    store(probabilities + i,
          (value_of(probabilities[i]) - (i - row * width + first == targets[row] ? 1.0f : 0.0f)) *
              scale);
  }
}
/// log(1 + e^z) without overflow, z = -y logit.
template <class T>
__global__ void binary_loss_kernel(const T* logits, const float* targets, float* losses, T* dlogits,
                                   std::int64_t samples, float scale) {
  STEPCAST_EACH(i, samples) {
    const float y = targets[i], z = -y * value_of(logits[i]);
    losses[i] = fmaxf(z, 0.0f) + log1pf(expf(-fabsf(z)));
    store(dlogits + i, -y / (1.0f + expf(-z)) * scale);
  }
}
}  // namespace stepcast::runtime
