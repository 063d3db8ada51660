#pragma once
#include "runtime/compress/number_formats.hpp"
#include "runtime/kernels/language.cuh"
#include "sim/workload/op.hpp"

namespace stepcast::runtime {
/// bfloat16 in memory; arithmetic is in fp32. Our own type, so that kernels carry one mangled name
/// under nvcc and g++.
struct Bf16 {
  std::uint16_t bits;
};

STEPCAST_HD float value_of(float x) { return x; }
STEPCAST_HD float value_of(Bf16 x) { return float_of_bf16(x.bits); }
STEPCAST_HD void store(float* to, float value) { *to = value; }
STEPCAST_HD void store(Bf16* to, float value) { to->bits = bf16_of(value); }

/// Calls `launch` with a zero of the element type: float, or Bf16 for bf16.
template <class Launch>
void by_precision(Precision precision, const Launch& launch) {
  if (precision == Precision::bf16)
    launch(Bf16{});
  else
    launch(0.0f);
}

inline constexpr int kThreads = 256;
/// Blocks of a grid-stride loop: enough to fill 132 SMs (H100) eight times over, few enough that
/// the last wave is short.
inline unsigned grid_of(std::int64_t elements, int per_block = kThreads) {
  const std::int64_t blocks = (elements + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 1056 ? 1056 : blocks);
}
}  // namespace stepcast::runtime

/// for every element of a grid-stride loop
#define STEPCAST_EACH(i, n)                                                               \
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, \
                    stride_##i = static_cast<std::int64_t>(gridDim.x) * blockDim.x;       \
       i < (n); i += stride_##i)
