#pragma once
#include <cuda_runtime_api.h>

namespace stepcast::runtime {
/// Throws EnvironmentError with call, place and CUDA's own words unless `status` is success.
void check(cudaError_t status, const char* call, const char* file, int line);
}  // namespace stepcast::runtime
#define STEPCAST_CUDA(call) ::stepcast::runtime::check(call, #call, __FILE__, __LINE__)
