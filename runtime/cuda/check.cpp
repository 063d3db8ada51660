#include "runtime/cuda/check.hpp"

#include <string>

#include "runtime/kernels/launch_check.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  static_cast<void>(
      cudaGetLastError());  // a sticky error stays, any other one must not be reported twice
  const std::string path = file;
  throw EnvironmentError(std::string(call) + " failed with " + cudaGetErrorName(status) + " (" +
                         cudaGetErrorString(status) + ") at " +
                         path.substr(path.rfind("runtime/")) + ":" + std::to_string(line));
}
void check_launch(int status, const char* kernel) {
  if (status == cudaSuccess) return;
  const auto error = static_cast<cudaError_t>(status);
  throw EnvironmentError(std::string("launching kernel ") + kernel + " failed with " +
                         cudaGetErrorName(error) + " (" + cudaGetErrorString(error) + ")");
}
}  // namespace stepcast::runtime
