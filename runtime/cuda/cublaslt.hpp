#pragma once
#include <cublasLt.h>

#include <map>
#include <memory>
#include <mutex>

#include "runtime/cuda/cuda_stream.hpp"
#include "runtime/device/kernels.hpp"

namespace stepcast::runtime {
/// Matrix products by cuBLASLt. A shape is planned once (layouts, epilogue, the heuristic's first
/// choice) and kept.
class CublasLt {
 public:
  explicit CublasLt(CudaDevice& device);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  void gemm(CudaStream& stream, const GemmCall& call);
  static std::size_t version();  // throws EnvironmentError when the library is missing

 private:
  struct Plan;
  Plan& plan_of(const GemmCall& call);
  void open();

  CudaDevice& device_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Plan>> plans_;
};
}  // namespace stepcast::runtime
