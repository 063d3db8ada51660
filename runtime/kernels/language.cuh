#pragma once
/// CUDA's language where nvcc compiles, the emulation where g++ does. Kernels are written in CUDA's
/// own words; three things go through macros because a plain C++ compiler cannot parse them:
/// launches, dynamic shared memory, and inline PTX (none is used).
///   STEPCAST_LAUNCH((kernel<T>), grid, block, shared_bytes, stream, arguments...)
///   STEPCAST_DYNAMIC_SHARED(float, name)
#ifdef __CUDACC__
#include <cuda_runtime.h>

#include "runtime/kernels/launch_check.hpp"
#define STEPCAST_KERNEL_NAME(...) __VA_ARGS__
#define STEPCAST_LAUNCH(kernel, grid, block, shared, stream, ...)                      \
  do {                                                                                 \
    STEPCAST_KERNEL_NAME kernel<<<grid, block, static_cast<size_t>(shared), stream>>>( \
        __VA_ARGS__);                                                                  \
    ::stepcast::runtime::check_launch(static_cast<int>(cudaGetLastError()), #kernel);  \
  } while (false)
#define STEPCAST_DYNAMIC_SHARED(type, name)                       \
  extern __shared__ __align__(16) unsigned char dynamic_shared[]; \
  type* name = reinterpret_cast<type*>(dynamic_shared)
#else
#include "runtime/kernels/emulation.hpp"
#define STEPCAST_KERNEL_NAME(...) __VA_ARGS__
#define STEPCAST_LAUNCH(kernel, grid, block, shared, stream, ...) \
  ::stepcast::emulation::launch<STEPCAST_KERNEL_NAME kernel>(     \
      grid, block, static_cast<std::size_t>(shared), stream, __VA_ARGS__)
#define STEPCAST_DYNAMIC_SHARED(type, name) \
  type* name = static_cast<type*>(::stepcast::emulation::dynamic_shared())
#endif
