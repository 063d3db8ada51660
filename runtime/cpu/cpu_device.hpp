#pragma once
#include <map>
#include <mutex>
#include <set>

#include "runtime/compress/host_compress_kernels.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"

namespace stepcast::runtime {
/// One core of this machine as a device. Streams are threads, memory is memory.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(DeviceInfo info) : info_(std::move(info)) {}

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
  CompressKernels* compress_kernels() override { return &compress_kernels_; }
  Recorder& recorder() override { return recorder_; }
  bool supports(Precision precision) const override { return precision == Precision::fp32; }
  void synchronise() override;

 private:
  DeviceInfo info_;
  CpuKernels kernels_;
  HostCompressKernels compress_kernels_{
      [](Stream& stream, std::function<void()> work) { cpu(stream).enqueue(std::move(work)); }};
  Recorder recorder_;
  mutable std::mutex mutex_;
  std::map<void*, Bytes> blocks_;
  std::set<CpuStream*> streams_;
  Bytes allocated_{0}, peak_{0};
};

/// Model name, cores, memory and library versions of this machine.
DeviceInfo cpu_info();
}  // namespace stepcast::runtime
