#include "runtime/cuda/cuda_device.hpp"

#include <algorithm>
#include <vector>

#include "runtime/cuda/check.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
class CudaGraph final : public Graph {
 public:
  CudaGraph(CudaDevice& device, cudaGraph_t graph) : device_(device) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "cudaGraphInstantiate", __FILE__, __LINE__);
  }
  ~CudaGraph() override { cudaGraphExecDestroy(executable_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  void launch(Stream& stream) override {
    device_.use();
    STEPCAST_CUDA(cudaGraphLaunch(executable_, handle(stream)));
  }

 private:
  CudaDevice& device_;
  cudaGraphExec_t executable_ = nullptr;
};
}  // namespace

CudaDevice::CudaDevice(int ordinal, DeviceInfo info)
    : ordinal_(ordinal), info_(std::move(info)), clock_(ordinal), kernels_(*this) {
  use();
}
CudaDevice::~CudaDevice() { cudaSetDevice(ordinal_); }
void CudaDevice::use() const { STEPCAST_CUDA(cudaSetDevice(ordinal_)); }

std::unique_ptr<Stream> CudaDevice::new_stream(const std::string& name, StreamPriority priority) {
  return std::make_unique<CudaStream>(*this, name, priority);
}
std::unique_ptr<Event> CudaDevice::new_event(bool has_timing) {
  return std::make_unique<CudaEvent>(*this, has_timing);
}

void* CudaDevice::allocate(Bytes bytes, MemoryKind kind) {
  use();
  void* data = nullptr;
  const auto size = static_cast<std::size_t>(bytes.value);
  const cudaError_t status = kind == MemoryKind::device
                                 ? cudaMalloc(&data, size)
                                 : cudaHostAlloc(&data, size, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    std::size_t free = 0, total = 0;
    STEPCAST_CUDA(cudaMemGetInfo(&free, &total));
    throw EnvironmentError("device " + std::to_string(ordinal_) + " (" + info_.name +
                           ") has no room for " + std::to_string(size) + " bytes of " +
                           (kind == MemoryKind::device ? "device" : "pinned host") +
                           " memory: " + std::to_string(free) + " of " + std::to_string(total) +
                           " bytes are free, this process holds " +
                           std::to_string(allocated().value));
  }
  check(status, kind == MemoryKind::device ? "cudaMalloc" : "cudaHostAlloc", __FILE__, __LINE__);
  const std::lock_guard lock(mutex_);
  if (kind == MemoryKind::device) {
    blocks_[data] = bytes;
    allocated_ += bytes;
    peak_ = std::max(peak_, allocated_);
  }
  return data;
}
void CudaDevice::release(void* data, MemoryKind kind) noexcept {
  cudaSetDevice(ordinal_);
  if (kind == MemoryKind::pinned_host) {
    cudaFreeHost(data);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = blocks_.find(data); found != blocks_.end()) {
      allocated_ -= found->second;
      blocks_.erase(found);
    }
  }
  cudaFree(data);
}
Bytes CudaDevice::allocated() const {
  const std::lock_guard lock(mutex_);
  return allocated_;
}
Bytes CudaDevice::peak_allocated() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}
void CudaDevice::copy(Stream& stream, void* to, const void* from, Bytes bytes) {
  use();
  STEPCAST_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes.value), cudaMemcpyDefault,
                                handle(stream)));
}
void CudaDevice::fill_zero(Stream& stream, void* data, Bytes bytes) {
  use();
  STEPCAST_CUDA(cudaMemsetAsync(data, 0, static_cast<std::size_t>(bytes.value), handle(stream)));
}

std::unique_ptr<Graph> CudaDevice::capture(Stream& stream, const std::function<void()>& enqueue) {
  use();
  // Thread-local: other threads may allocate meanwhile.
  STEPCAST_CUDA(cudaStreamBeginCapture(handle(stream), cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(handle(stream), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    static_cast<void>(cudaGetLastError());
    throw;
  }
  STEPCAST_CUDA(cudaStreamEndCapture(handle(stream), &graph));
  return std::make_unique<CudaGraph>(*this, graph);
}

void CudaDevice::synchronise() {
  std::vector<CudaStream*> streams;
  {
    const std::lock_guard lock(mutex_);
    streams.assign(streams_.begin(), streams_.end());
  }
  for (CudaStream* stream : streams) stream->synchronise();
  use();
  STEPCAST_CUDA(cudaDeviceSynchronize());
}
void CudaDevice::add_stream(CudaStream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.insert(stream);
}
void CudaDevice::remove_stream(CudaStream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}
void CudaDevice::add_watch(const void* owner, Watch watch) {
  const std::lock_guard lock(mutex_);
  watches_[owner] = std::move(watch);
}
void CudaDevice::remove_watch(const void* owner) {
  const std::lock_guard lock(mutex_);
  watches_.erase(owner);
}
void CudaDevice::look_at_watches(Nanoseconds waited) const {
  std::vector<Watch> watches;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [owner, watch] : watches_) watches.push_back(watch);
  }
  for (const Watch& watch : watches) watch(waited);
}
}  // namespace stepcast::runtime
