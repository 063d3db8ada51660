#pragma once
#include "runtime/compress/compress_kernels.hpp"
#include "runtime/kernels/reduce.cuh"

/// PowerSGD's thin products; kRank is the rank rounded up to a power of two, so that sums stay in
/// registers.
namespace stepcast::runtime {

__global__ void power_start_kernel(float* q, std::int64_t count, std::uint64_t seed) {
  STEPCAST_EACH(i, count) q[i] = random_entry(seed, i);
}
/// p = M q, a block per row.
template <int kRank>
__global__ void __launch_bounds__(kThreads)
    power_project_kernel(const float* x, const float* q, float* p, PowerShape shape) {
  __shared__ float shared[32];
  const std::int64_t row = blockIdx.x, first = row * shape.cols, left = shape.elements - first,
                     width = left < shape.cols ? left : shape.cols;
  float sums[kRank] = {};
  for (std::int64_t col = threadIdx.x; col < width; col += kThreads) {
    const float value = x[first + col];
#pragma unroll
    for (int r = 0; r < kRank; ++r)
      if (r < shape.rank) sums[r] += value * q[col * shape.rank + r];
  }
#pragma unroll
  for (int r = 0; r < kRank; ++r) {
    if (r >= shape.rank) continue;  // the same for all threads
    const float sum = block_sum(sums[r], shared);
    if (threadIdx.x == 0) p[row * shape.rank + r] = sum;
  }
}
/// q = M' p, a block per 32 columns; 8 threads share a column's rows.
template <int kRank>
__global__ void __launch_bounds__(kThreads)
    power_back_kernel(const float* x, const float* p, float* q, PowerShape shape) {
  __shared__ float parts[8][33];
  const unsigned lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  float sums[kRank] = {};
  if (col < shape.cols)
    for (std::int64_t row = part; row < shape.rows; row += 8) {
      const std::int64_t at = row * shape.cols + col;
      const float value = at < shape.elements ? x[at] : 0.0f;
#pragma unroll
      for (int r = 0; r < kRank; ++r)
        if (r < shape.rank) sums[r] += value * p[row * shape.rank + r];
    }
#pragma unroll
  for (int r = 0; r < kRank; ++r) {
    if (r >= shape.rank) continue;
    __syncthreads();
    parts[part][lane] = sums[r];
    __syncthreads();
    if (part != 0 || col >= shape.cols) continue;
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i) sum += parts[i][lane];
    q[col * shape.rank + r] = sum;
  }
}
__device__ __forceinline__ float power_entry(const float* p, const float* q,
                                             const PowerShape& shape, std::int64_t i) {
  const float *row = p + i / shape.cols * shape.rank, *col = q + i % shape.cols * shape.rank;
  float sum = 0.0f;
  for (int r = 0; r < shape.rank; ++r) sum += row[r] * col[r];
  return sum;
}
__global__ void power_subtract_kernel(float* x, const float* p, const float* q, PowerShape shape) {
  STEPCAST_EACH(i, shape.elements) x[i] -= power_entry(p, q, shape, i);
}
__global__ void power_expand_kernel(const float* p, const float* q, float* g, PowerShape shape) {
  STEPCAST_EACH(i, shape.elements) g[i] = power_entry(p, q, shape, i);
}

__device__ __forceinline__ float column_dot(const float* p, const PowerShape& shape, int a, int b,
                                            float* shared) {
  float sum = 0.0f;
  for (std::int64_t row = threadIdx.x; row < shape.rows; row += blockDim.x)
    sum += p[row * shape.rank + a] * p[row * shape.rank + b];
  return block_sum(sum, shared);
}
__device__ __forceinline__ void subtract_earlier(float* p, const PowerShape& shape, int column,
                                                 float* shared) {
  for (int earlier = 0; earlier < column; ++earlier) {
    const float dot = column_dot(p, shape, earlier, column, shared);
    // A thread writes the rows that it alone reads.
    for (std::int64_t row = threadIdx.x; row < shape.rows; row += blockDim.x)
      p[row * shape.rank + column] -= dot * p[row * shape.rank + earlier];
  }
}
/// One block: modified Gram-Schmidt; a column that depends on the earlier ones is drawn anew (see
/// host_power_loops.cpp).
__global__ void __launch_bounds__(kThreads)
    power_orthonormalise_kernel(float* p, PowerShape shape) {
  __shared__ float shared[32];
  for (int column = 0; column < shape.rank; ++column) {
    const float before = column_dot(p, shape, column, column, shared);
    subtract_earlier(p, shape, column, shared);
    float norm = column_dot(p, shape, column, column, shared);
    if (!(norm > static_cast<float>(kVanishingShare) * before)) {
      for (std::int64_t row = threadIdx.x; row < shape.rows; row += blockDim.x)
        p[row * shape.rank + column] = random_entry(static_cast<std::uint64_t>(column), row);
      subtract_earlier(p, shape, column, shared);
      subtract_earlier(p, shape, column, shared);
      norm = column_dot(p, shape, column, column, shared);
    }
    const float factor = norm > 0.0f ? 1.0f / sqrtf(norm) : 0.0f;
    for (std::int64_t row = threadIdx.x; row < shape.rows; row += blockDim.x)
      p[row * shape.rank + column] *= factor;
  }
}
}  // namespace stepcast::runtime
