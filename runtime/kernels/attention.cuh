#pragma once
#include "runtime/kernels/reduce.cuh"

/// Flash attention (Dao et al., 2022) in fp32 on CUDA cores: tiles of queries and keys meet in
/// shared memory, nothing of size T x T exists. Correct for any length, head_dim up to 32 * kDims,
/// grouped keys and values. A lane owns one key (or query) while scores are made and kDims output
/// dimensions while they are used.
///   forward, dq: block = (query tile, head, sample), 4 warps of kRows queries, key tiles of 32
///   dk, dv     : block = (key tile, key head, sample), 4 warps of kRows keys, query tiles of 32
namespace stepcast::runtime {
inline constexpr int kTile = 32, kAttentionThreads = 128, kForwardRows = 4, kBackwardRows = 2;
/// Blocks per SM that the backward kernels are compiled for: 128 registers a thread. Left to itself
/// ptxas 13.0 aims at more blocks on sm_80 and spills addresses.
inline constexpr int kBackwardBlocks = 4;

struct AttentionShapeOf {  // element strides of the packed projection and of its results
  std::int64_t length, heads, kv_heads, dim;
  bool is_causal;
  float scale;
  __device__ std::int64_t row() const { return (heads + 2 * kv_heads) * dim; }
  __device__ std::int64_t q(std::int64_t sample, std::int64_t token, std::int64_t head) const {
    return (sample * length + token) * row() + head * dim;
  }
  __device__ std::int64_t k(std::int64_t sample, std::int64_t token, std::int64_t kv) const {
    return q(sample, token, heads + kv);
  }
  __device__ std::int64_t v(std::int64_t sample, std::int64_t token, std::int64_t kv) const {
    return q(sample, token, heads + kv_heads + kv);
  }
  __device__ std::int64_t out(std::int64_t sample, std::int64_t token, std::int64_t head) const {
    return ((sample * length + token) * heads + head) * dim;
  }
  __device__ std::int64_t kv_out(std::int64_t sample, std::int64_t token, std::int64_t kv) const {
    return ((sample * length + token) * kv_heads + kv) * dim;
  }
  __device__ std::int64_t lse(std::int64_t sample, std::int64_t head, std::int64_t token) const {
    return (sample * heads + head) * length + token;
  }
};

/// rows x dim elements into shared memory with row pitch dim + 1 (no bank conflicts when lanes read
/// one column); zeros beyond the end.
template <class T, class Offset>
__device__ __forceinline__ void load_tile(float* to, const T* from, int rows, std::int64_t first,
                                          std::int64_t length, int dim, const Offset& offset) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * dim; i += kAttentionThreads) {
    const int row = i / dim, column = i % dim;
    to[row * (dim + 1) + column] =
        first + row < length ? value_of(from[offset(first + row) + column]) : 0.0f;
  }
}
__device__ __forceinline__ float dot(const float* a, const float* b, int dim) {
  float sum = 0.0f;
  for (int i = 0; i < dim; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T, int kDims>
__global__ void __launch_bounds__(kAttentionThreads)
    attention_forward_kernel(AttentionShapeOf shape, const T* qkv, T* y, float* lse) {
  STEPCAST_DYNAMIC_SHARED(float, tiles);
  const int dim = static_cast<int>(shape.dim), pitch = dim + 1,
            warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t head = blockIdx.y, sample = blockIdx.z,
                     kv = head / (shape.heads / shape.kv_heads);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (4 * kForwardRows),
                     end = first + 4 * kForwardRows;
  float *q = tiles, *k = q + 4 * kForwardRows * pitch, *v = k + kTile * pitch;
  load_tile(q, qkv, 4 * kForwardRows, first, shape.length, dim,
            [&](std::int64_t token) { return shape.q(sample, token, head); });

  float accumulated[kForwardRows][kDims], maximum[kForwardRows], sum[kForwardRows];
#pragma unroll
  for (int r = 0; r < kForwardRows; ++r) {
    maximum[r] = -3.0e38f;
    sum[r] = 0.0f;
#pragma unroll
    for (int d = 0; d < kDims; ++d) accumulated[r][d] = 0.0f;
  }
  const std::int64_t keys = shape.is_causal && end < shape.length ? end : shape.length;
  for (std::int64_t tile = 0; tile < keys; tile += kTile) {
    __syncthreads();  // the last tile is used up
    load_tile(k, qkv, kTile, tile, shape.length, dim,
              [&](std::int64_t token) { return shape.k(sample, token, kv); });
    load_tile(v, qkv, kTile, tile, shape.length, dim,
              [&](std::int64_t token) { return shape.v(sample, token, kv); });
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kForwardRows; ++r) {
      const std::int64_t query = first + warp * kForwardRows + r, key = tile + lane;
      const bool is_seen = key < shape.length && (!shape.is_causal || key <= query);
      const float score =
          is_seen ? dot(q + (warp * kForwardRows + r) * pitch, k + lane * pitch, dim) * shape.scale
                  : -3.0e38f;
      const float now = fmaxf(maximum[r], warp_max(score)), shrink = expf(maximum[r] - now);
      const float p = is_seen ? expf(score - now) : 0.0f;
      sum[r] = sum[r] * shrink + warp_sum(p);
      maximum[r] = now;
#pragma unroll
      for (int d = 0; d < kDims; ++d) accumulated[r][d] *= shrink;
      for (int j = 0; j < kTile; ++j) {
        const float weight = __shfl_sync(kAllLanes, p, j);
#pragma unroll
        for (int d = 0; d < kDims; ++d)
          if (lane + 32 * d < dim) accumulated[r][d] += weight * v[j * pitch + lane + 32 * d];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kForwardRows; ++r) {
    const std::int64_t query = first + warp * kForwardRows + r;
    if (query >= shape.length) continue;
#pragma unroll
    for (int d = 0; d < kDims; ++d)
      if (lane + 32 * d < dim)
        store(y + shape.out(sample, query, head) + lane + 32 * d, accumulated[r][d] / sum[r]);
    if (lane == 0) lse[shape.lse(sample, head, query)] = maximum[r] + logf(sum[r]);
  }
}

/// delta = dy . y of each row: what softmax's gradient subtracts. A warp per row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    attention_delta_kernel(AttentionShapeOf shape, const T* y, const T* dy, float* delta,
                           std::int64_t rows) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) +
                             threadIdx.x / 32;  // (sample, token, head)
  if (index >= rows) return;
  float sum = 0.0f;
  for (std::int64_t i = threadIdx.x % 32; i < shape.dim; i += 32)
    sum += value_of(y[index * shape.dim + i]) * value_of(dy[index * shape.dim + i]);
  sum = warp_sum(sum);
  const std::int64_t head = index % shape.heads, token = index / shape.heads % shape.length,
                     sample = index / shape.heads / shape.length;
  if (threadIdx.x % 32 == 0) delta[shape.lse(sample, head, token)] = sum;
}

/// P = e^(s - lse), dS = P (dy . v - delta) scale, dq = dS k.
template <class T, int kDims>
__global__ void __launch_bounds__(kAttentionThreads, kBackwardBlocks)
    attention_dq_kernel(AttentionShapeOf shape, const T* qkv, const T* dy, const float* lse,
                        const float* delta, T* dq) {
  STEPCAST_DYNAMIC_SHARED(float, tiles);
  const int dim = static_cast<int>(shape.dim), pitch = dim + 1,
            warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t head = blockIdx.y, sample = blockIdx.z,
                     kv = head / (shape.heads / shape.kv_heads);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (4 * kBackwardRows),
                     end = first + 4 * kBackwardRows;
  float *q = tiles, *d_out = q + 4 * kBackwardRows * pitch, *k = d_out + 4 * kBackwardRows * pitch,
        *v = k + kTile * pitch;
  load_tile(q, qkv, 4 * kBackwardRows, first, shape.length, dim,
            [&](std::int64_t token) { return shape.q(sample, token, head); });
  load_tile(d_out, dy, 4 * kBackwardRows, first, shape.length, dim,
            [&](std::int64_t token) { return shape.out(sample, token, head); });
  float gradient[kBackwardRows][kDims] = {};
  const std::int64_t keys = shape.is_causal && end < shape.length ? end : shape.length;
  for (std::int64_t tile = 0; tile < keys; tile += kTile) {
    __syncthreads();
    load_tile(k, qkv, kTile, tile, shape.length, dim,
              [&](std::int64_t token) { return shape.k(sample, token, kv); });
    load_tile(v, qkv, kTile, tile, shape.length, dim,
              [&](std::int64_t token) { return shape.v(sample, token, kv); });
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kBackwardRows; ++r) {
      const int own = warp * kBackwardRows + r;
      const std::int64_t query = first + own, key = tile + lane;
      float ds = 0.0f;
      if (query < shape.length && key < shape.length && (!shape.is_causal || key <= query)) {
        const std::int64_t row = shape.lse(sample, head, query);
        const float p = expf(dot(q + own * pitch, k + lane * pitch, dim) * shape.scale - lse[row]);
        ds = p * (dot(d_out + own * pitch, v + lane * pitch, dim) - delta[row]) * shape.scale;
      }
      for (int j = 0; j < kTile; ++j) {
        const float weight = __shfl_sync(kAllLanes, ds, j);
#pragma unroll
        for (int d = 0; d < kDims; ++d)
          if (lane + 32 * d < dim) gradient[r][d] += weight * k[j * pitch + lane + 32 * d];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kBackwardRows; ++r) {
    const std::int64_t query = first + warp * kBackwardRows + r;
    if (query >= shape.length) continue;
#pragma unroll
    for (int d = 0; d < kDims; ++d)
      if (lane + 32 * d < dim)
        store(dq + shape.out(sample, query, head) + lane + 32 * d, gradient[r][d]);
  }
}

/// dv = P' dy, dk = dS' q, summed over the query heads that share the key head.
template <class T, int kDims>
__global__ void __launch_bounds__(kAttentionThreads, kBackwardBlocks)
    attention_dkv_kernel(AttentionShapeOf shape, const T* qkv, const T* dy, const float* lse,
                         const float* delta, T* dk, T* dv) {
  STEPCAST_DYNAMIC_SHARED(float, tiles);
  const int dim = static_cast<int>(shape.dim), pitch = dim + 1,
            warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t kv = blockIdx.y, sample = blockIdx.z, group = shape.heads / shape.kv_heads;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (4 * kBackwardRows);
  float *k = tiles, *v = k + 4 * kBackwardRows * pitch, *q = v + 4 * kBackwardRows * pitch,
        *d_out = q + kTile * pitch;
  load_tile(k, qkv, 4 * kBackwardRows, first, shape.length, dim,
            [&](std::int64_t token) { return shape.k(sample, token, kv); });
  load_tile(v, qkv, 4 * kBackwardRows, first, shape.length, dim,
            [&](std::int64_t token) { return shape.v(sample, token, kv); });
  float key_gradient[kBackwardRows][kDims] = {}, value_gradient[kBackwardRows][kDims] = {};
  const std::int64_t begin = shape.is_causal ? first / kTile * kTile : 0;
  for (std::int64_t head = kv * group; head < (kv + 1) * group; ++head)
    for (std::int64_t tile = begin; tile < shape.length; tile += kTile) {
      __syncthreads();
      load_tile(q, qkv, kTile, tile, shape.length, dim,
                [&](std::int64_t token) { return shape.q(sample, token, head); });
      load_tile(d_out, dy, kTile, tile, shape.length, dim,
                [&](std::int64_t token) { return shape.out(sample, token, head); });
      __syncthreads();
#pragma unroll
      for (int r = 0; r < kBackwardRows; ++r) {
        const int own = warp * kBackwardRows + r;
        const std::int64_t key = first + own, query = tile + lane;
        float p = 0.0f, ds = 0.0f;
        if (query < shape.length && key < shape.length && (!shape.is_causal || key <= query)) {
          const std::int64_t row = shape.lse(sample, head, query);
          p = expf(dot(q + lane * pitch, k + own * pitch, dim) * shape.scale - lse[row]);
          ds = p * (dot(d_out + lane * pitch, v + own * pitch, dim) - delta[row]) * shape.scale;
        }
        for (int j = 0; j < kTile; ++j) {
          const float p_j = __shfl_sync(kAllLanes, p, j), ds_j = __shfl_sync(kAllLanes, ds, j);
#pragma unroll
          for (int d = 0; d < kDims; ++d)
            if (lane + 32 * d < dim) {
              value_gradient[r][d] += p_j * d_out[j * pitch + lane + 32 * d];
              key_gradient[r][d] += ds_j * q[j * pitch + lane + 32 * d];
            }
        }
      }
    }
#pragma unroll
  for (int r = 0; r < kBackwardRows; ++r) {
    const std::int64_t key = first + warp * kBackwardRows + r;
    if (key >= shape.length) continue;
#pragma unroll
    for (int d = 0; d < kDims; ++d)
      if (lane + 32 * d < dim) {
        store(dk + shape.kv_out(sample, key, kv) + lane + 32 * d, key_gradient[r][d]);
        store(dv + shape.kv_out(sample, key, kv) + lane + 32 * d, value_gradient[r][d]);
      }
  }
}
}  // namespace stepcast::runtime
