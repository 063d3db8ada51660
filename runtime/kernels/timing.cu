#include "runtime/kernels/language.cuh"
#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime {
__global__ void wait_cycles_kernel(std::int64_t cycles) {
#ifdef __CUDA_ARCH__
  const std::int64_t begin = clock64();
  while (clock64() - begin < cycles) {
  }
#else
  static_cast<void>(cycles);  // the emulation has no clock to wait for
#endif
}
namespace launch {
void wait_cycles(CudaStream stream, std::int64_t cycles) {
  STEPCAST_LAUNCH((wait_cycles_kernel), 1, 1, 0, stream, cycles);
}
}  // namespace launch
}  // namespace stepcast::runtime
