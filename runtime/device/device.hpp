#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/capture/recorder.hpp"
#include "runtime/device/view.hpp"
#include "sim/core/units.hpp"

/// The seam over an accelerator, or over the CPU playing one. `cuda` (a plugin) and `cpu` implement
/// it; the training step and the measurements are written once against it.
///
/// To add a backend: 1. implement Device, Stream, Event, Kernels and Communicator; 2. a Backend
/// (runtime/backend/backend.hpp) that probes and opens them; 3. list it in registry.cpp or export
/// it from a plugin; 4. run tests/runtime/device against it (they take the backend's name from
/// $STEPCAST_TEST_BACKEND).
namespace stepcast::runtime {

class Kernels;
class CompressKernels;  // runtime/compress/compress_kernels.hpp
class Device;

/// What the device says of itself. Text is for people and provenance.
struct DeviceInfo {
  std::string name;                                           // "AMD EPYC 9B45", "NVIDIA H200"
  std::string architecture;                                   // "x86-64-v4", "sm_90"
  std::vector<std::pair<std::string, std::string>> versions;  // library or driver -> version
  int compute_units = 0;                                      // cores used, or SMs
  Bytes memory;
  double clock_MHz = 0;         // 0 = unknown
  double peak_flops[6] = {};    // dense FLOP/s by Precision from the datasheet; 0 = unknown (then
                                // calibration measures it)
  double memory_bandwidth = 0;  // bytes/s from the datasheet; 0 = unknown
};

/// A moment on a stream. Recorded once per use; re-recording moves it.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool is_reached() const = 0;
  /// Blocks the host. A failure on the device's side is thrown here as EnvironmentError.
  virtual void wait() const = 0;
  /// Device time at which it was reached; only differences between two events of one device mean
  /// anything. Requires: reached, and made with timing.
  virtual Seconds reached_at() const = 0;
};

/// An ordered queue of device work. Work of one stream runs in order, that of two streams does not
/// unless an event orders it.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual const std::string& name() const = 0;
  virtual Device& device() const = 0;
  virtual void record(Event& event) = 0;
  /// Later work of this stream starts after `event`, as it was last recorded when this call is
  /// made.
  virtual void wait_for(const Event& event) = 0;
  /// Blocks the host until the queue is empty; throws what the work threw (EnvironmentError).
  virtual void synchronise() = 0;
};

/// Work captured once and launched whole, at the cost of one launch. Its buffers must outlive it.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void launch(Stream& stream) = 0;
};

/// A high-priority stream's work goes first where both could run: communication, so that buckets
/// leave while backward computes.
enum class StreamPriority : std::uint8_t { normal, high };
enum class MemoryKind : std::uint8_t { device, pinned_host };

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual std::unique_ptr<Stream> new_stream(const std::string& name,
                                             StreamPriority priority = StreamPriority::normal) = 0;
  virtual std::unique_ptr<Event> new_event(bool has_timing = false) = 0;

  /// Aligned to 64 bytes (256 on cuda), contents undefined. Throws EnvironmentError naming bytes
  /// asked and free.
  virtual void* allocate(Bytes bytes, MemoryKind kind) = 0;
  virtual void release(void* data, MemoryKind kind) noexcept = 0;
  virtual Bytes allocated() const = 0;
  virtual Bytes peak_allocated() const = 0;

  /// Copies between any two of host and device; asynchronous with pinned memory.
  virtual void copy(Stream& stream, void* to, const void* from, Bytes bytes) = 0;
  virtual void fill_zero(Stream& stream, void* data, Bytes bytes) = 0;

  virtual Kernels& kernels() = 0;
  /// Loops of gradient compressors; null where the backend has none.
  virtual CompressKernels* compress_kernels() { return nullptr; }
  /// Runs `enqueue`, which puts work on `stream` and on streams that wait for it and that it waits
  /// for in the end, and keeps that work as a graph without executing it. Null where the backend
  /// has no graphs.
  virtual std::unique_ptr<Graph> capture(Stream& /*stream*/,
                                         const std::function<void()>& /*enqueue*/) {
    return nullptr;
  }
  virtual Recorder& recorder() = 0;
  /// The precisions that kernels() accepts for activations and weights.
  virtual bool supports(Precision precision) const = 0;
  /// Waits for every stream.
  virtual void synchronise() = 0;
};

/// Owned device (or pinned host) memory.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, Bytes bytes, MemoryKind kind = MemoryKind::device)
      : device_(&device),
        data_(bytes.value > 0 ? device.allocate(bytes, kind) : nullptr),
        bytes_(bytes),
        kind_(kind) {}
  Buffer(Device& device, std::int64_t elements, Precision precision)
      : Buffer(device, Bytes(elements * bytes_per_element(precision))) {
    precision_ = precision;
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) device_->release(data_, kind_);
  }

  View view() const { return {data_, precision_}; }
  View view(std::int64_t element) const { return view().at(element); }
  void* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  std::int64_t elements() const { return bytes_.value / bytes_per_element(precision_); }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(kind_, other.kind_);
    std::swap(precision_, other.precision_);
  }
  Device* device_ = nullptr;
  void* data_ = nullptr;
  Bytes bytes_{0};
  MemoryKind kind_ = MemoryKind::device;
  Precision precision_ = Precision::fp32;
};

/// `waiting` goes on only after everything `first` holds now. The one helper for every crossing of
/// streams.
inline void make_wait(Stream& waiting, Stream& first, Event& event) {
  first.record(event);
  waiting.wait_for(event);
}
}  // namespace stepcast::runtime
