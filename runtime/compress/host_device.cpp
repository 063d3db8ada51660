#include "runtime/compress/host_device.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "runtime/compress/host_compress_kernels.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
constexpr std::align_val_t kAlignment{64};

class HostEvent final : public Event {
 public:
  bool is_reached() const override { return true; }
  void wait() const override {}
  Seconds reached_at() const override { return seconds_from_ns(at); }
  Nanoseconds at = 0;
};
class HostStream final : public Stream {
 public:
  HostStream(Device& device, std::string name) : device_(device), name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  Device& device() const override { return device_; }
  void record(Event& event) override { static_cast<HostEvent&>(event).at = Recorder::now(); }
  void wait_for(const Event&) override {}
  void synchronise() override {}

 private:
  Device& device_;
  std::string name_;
};
class HostDevice final : public Device {
 public:
  HostDevice() : loops_([](Stream&, const std::function<void()>& work) { work(); }) {
    info_.name = "host memory";
    info_.compute_units = 1;
  }
  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Stream> new_stream(const std::string& name, StreamPriority) override {
    return std::make_unique<HostStream>(*this, name);
  }
  std::unique_ptr<Event> new_event(bool) override { return std::make_unique<HostEvent>(); }
  void* allocate(Bytes bytes, MemoryKind) override {
    void* data = ::operator new(static_cast<std::size_t>(bytes.value), kAlignment);
    const std::lock_guard lock(mutex_);
    blocks_[data] = bytes;
    allocated_ += bytes;
    peak_ = std::max(peak_, allocated_);
    return data;
  }
  void release(void* data, MemoryKind) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      const auto found = blocks_.find(data);
      allocated_ -= found->second;
      blocks_.erase(found);
    }
    ::operator delete(data, kAlignment);
  }
  Bytes allocated() const override {
    const std::lock_guard lock(mutex_);
    return allocated_;
  }
  Bytes peak_allocated() const override {
    const std::lock_guard lock(mutex_);
    return peak_;
  }
  void copy(Stream&, void* to, const void* from, Bytes bytes) override {
    std::memmove(to, from, static_cast<std::size_t>(bytes.value));
  }
  void fill_zero(Stream&, void* data, Bytes bytes) override {
    std::memset(data, 0, static_cast<std::size_t>(bytes.value));
  }
  Kernels& kernels() override {
    throw InternalError("the host device has no training kernels; compressors ask for none");
  }
  CompressKernels* compress_kernels() override { return &loops_; }
  Recorder& recorder() override { return recorder_; }
  bool supports(Precision precision) const override { return precision == Precision::fp32; }
  void synchronise() override {}

 private:
  DeviceInfo info_;
  HostCompressKernels loops_;
  Recorder recorder_;
  mutable std::mutex mutex_;
  std::map<void*, Bytes> blocks_;
  Bytes allocated_{0}, peak_{0};
};
}  // namespace
std::unique_ptr<Device> new_host_device() { return std::make_unique<HostDevice>(); }
}  // namespace stepcast::runtime
