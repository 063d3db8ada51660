#pragma once
#include <map>
#include <mutex>
#include <set>

#include "runtime/cuda/cuda_compress_kernels.hpp"
#include "runtime/cuda/cuda_kernels.hpp"
#include "runtime/cuda/cuda_recorder.hpp"
#include "runtime/cuda/cuda_stream.hpp"

namespace stepcast::runtime {
class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, DeviceInfo info);
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Stream> new_stream(const std::string& name, StreamPriority priority) override;
  std::unique_ptr<Event> new_event(bool has_timing) override;
  void* allocate(Bytes bytes, MemoryKind kind) override;
  void release(void* data, MemoryKind kind) noexcept override;
  Bytes allocated() const override;
  Bytes peak_allocated() const override;
  void copy(Stream& stream, void* to, const void* from, Bytes bytes) override;
  void fill_zero(Stream& stream, void* data, Bytes bytes) override;
  Kernels& kernels() override { return kernels_; }
  CompressKernels* compress_kernels() override { return &compress_; }
  std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& enqueue) override;
  Recorder& recorder() override { return recorder_; }
  bool supports(Precision precision) const override {
    return precision == Precision::fp32 || precision == Precision::bf16;
  }
  void synchronise() override;

  int ordinal() const { return ordinal_; }
  void use() const;  // makes it the calling thread's device
  EventClock& clock() { return clock_; }
  CudaRecorder& cuda_recorder() { return recorder_; }
  void add_stream(CudaStream* stream);
  void remove_stream(CudaStream* stream);
  void add_watch(const void* owner, Watch watch);
  void remove_watch(const void* owner);
  void look_at_watches(Nanoseconds waited) const;

 private:
  int ordinal_;
  DeviceInfo info_;
  EventClock clock_;
  CudaRecorder recorder_;
  CudaKernels kernels_;
  CudaCompressKernels compress_;
  mutable std::mutex mutex_;
  std::map<void*, Bytes> blocks_;
  std::set<CudaStream*> streams_;
  std::map<const void*, Watch> watches_;
  Bytes allocated_{0}, peak_{0};
};
}  // namespace stepcast::runtime
