#pragma once
#include "runtime/kernels/element.cuh"

/// Reductions over a warp and over a block of whole warps.
namespace stepcast::runtime {
inline constexpr unsigned kAllLanes = 0xffffffffu;

__device__ __forceinline__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}
__device__ __forceinline__ float warp_max(float value) {
  for (int step = 16; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}
/// `shared` holds one float per warp. Every thread gets the result; the leading barrier lets
/// `shared` be used again at once.
__device__ __forceinline__ float block_sum(float value, float* shared) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32,
            warps = static_cast<int>(blockDim.x) / 32;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  return warp_sum(lane < warps ? shared[lane] : 0.0f);
}
__device__ __forceinline__ float block_max(float value, float* shared) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32,
            warps = static_cast<int>(blockDim.x) / 32;
  value = warp_max(value);
  __syncthreads();
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  return warp_max(lane < warps ? shared[lane] : -3.0e38f);
}
}  // namespace stepcast::runtime
