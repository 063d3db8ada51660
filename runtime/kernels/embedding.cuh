#pragma once
#include "runtime/kernels/reduce.cuh"

namespace stepcast::runtime {
template <class T>
__global__ void embedding_forward_kernel(const int* ids, const T* table, T* y, std::int64_t tokens,
                                         std::int64_t width, std::int64_t first_row,
                                         std::int64_t rows) {
  STEPCAST_EACH(i, tokens * width) {
    const std::int64_t row = ids[i / width] - first_row;
    if (row >= 0 && row < rows)
      y[i] = table[row * width + i % width];
    else
      store(y + i, 0.0f);
  }
}
/// A warp per table row reads all ids and adds the rows of dy that belong to it, in token order:
/// deterministic, no atomics. Reads tokens * rows ids, from cache: 8192 tokens and 50k rows are 1.6
/// GB of L2 reads.
template <class T>
__global__ void __launch_bounds__(kThreads)
    embedding_backward_kernel(const int* ids, const T* dy, float* dtable, std::int64_t tokens,
                              std::int64_t width, std::int64_t first_row, std::int64_t rows) {
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (row >= rows) return;  // a whole warp
  float* to = dtable + row * width;
  for (std::int64_t i = lane; i < width; i += 32) to[i] = 0.0f;
  for (std::int64_t begin = 0; begin < tokens; begin += 32) {
    const bool is_ours = begin + lane < tokens && ids[begin + lane] == row + first_row;
    unsigned found = __ballot_sync(kAllLanes, is_ours ? 1 : 0);
    for (int token = 0; found != 0; ++token, found >>= 1)
      if ((found & 1u) != 0)
        for (std::int64_t i = lane; i < width; i += 32)
          to[i] += value_of(dy[(begin + token) * width + i]);
  }
}
template <class T>
__global__ void position_forward_kernel(const T* x, const T* positions, T* y, std::int64_t elements,
                                        std::int64_t period) {
  STEPCAST_EACH(i, elements) store(y + i, value_of(x[i]) + value_of(positions[i % period]));
}
template <class T>
__global__ void position_backward_kernel(const T* dy, float* dpositions, std::int64_t batch,
                                         std::int64_t period) {
  STEPCAST_EACH(i, period) {
    float sum = 0.0f;
    for (std::int64_t sample = 0; sample < batch; ++sample)
      sum += value_of(dy[sample * period + i]);
    dpositions[i] += sum;
  }
}
template <class T>
__global__ void bag_forward_kernel(const int* indices, const float* table, T* y,
                                   std::int64_t samples, std::int64_t pooling, std::int64_t width) {
  STEPCAST_EACH(i, samples * width) {
    const std::int64_t sample = i / width;
    float sum = 0.0f;
    for (std::int64_t k = 0; k < pooling; ++k)
      sum += table[indices[sample * pooling + k] * width + i % width];
    store(y + i, sum);
  }
}
/// table[index] -= rate dy, the table in fp32 with atomics: a row that several samples touch gets
/// all of them, in any order.
template <class T>
__global__ void bag_update_kernel(const int* indices, float* table, const T* dy,
                                  std::int64_t samples, std::int64_t pooling, std::int64_t width,
                                  float rate) {
  STEPCAST_EACH(i, samples * pooling * width) {
    const std::int64_t entry = i / width, column = i % width;
    atomicAdd(table + indices[entry] * width + column,
              -rate * value_of(dy[entry / pooling * width + column]));
  }
}
/// y = (first vector | lower triangle of z z'), a block per sample; a warp per pair.
template <class T>
__global__ void __launch_bounds__(kThreads)
    interaction_forward_kernel(const T* z, T* y, int features, std::int64_t width) {
  const std::int64_t pairs = static_cast<std::int64_t>(features) * (features - 1) / 2;
  const T* vectors = z + blockIdx.x * features * width;
  T* out = y + blockIdx.x * (width + pairs);
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) out[i] = vectors[i];
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  int pair = 0;
  for (int a = 1; a < features; ++a)
    for (int b = 0; b < a; ++b, ++pair) {
      if (pair % (kThreads / 32) != warp) continue;
      float sum = 0.0f;
      for (std::int64_t i = lane; i < width; i += 32)
        sum += value_of(vectors[a * width + i]) * value_of(vectors[b * width + i]);
      sum = warp_sum(sum);
      if (lane == 0) store(out + width + pair, sum);
    }
}
/// dz[a] = sum over b of G[a][b] z[b], G symmetric with the pairs' gradients; the first vector's
/// own copy beside.
template <class T>
__global__ void __launch_bounds__(kThreads)
    interaction_backward_kernel(const T* z, const T* dy, T* dz, int features, std::int64_t width) {
  const std::int64_t pairs = static_cast<std::int64_t>(features) * (features - 1) / 2;
  const T* vectors = z + blockIdx.x * features * width;
  const T* in = dy + blockIdx.x * (width + pairs);
  for (std::int64_t i = threadIdx.x; i < features * width; i += blockDim.x) {
    const int a = static_cast<int>(i / width);
    const std::int64_t column = i % width;
    float sum = a == 0 ? value_of(in[column]) : 0.0f;
    for (int b = 0; b < features; ++b) {
      if (b == a) continue;
      const int high = a > b ? a : b, low = a > b ? b : a;
      sum +=
          value_of(in[width + high * (high - 1) / 2 + low]) * value_of(vectors[b * width + column]);
    }
    store(dz + blockIdx.x * features * width + i, sum);
  }
}
}  // namespace stepcast::runtime
