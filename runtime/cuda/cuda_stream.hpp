#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/device/device.hpp"

namespace stepcast::runtime {
class CudaDevice;

/// Times of events. cudaEventElapsedTime gives a float of milliseconds, whose resolution falls with
/// the distance from the first event; so a new base is recorded every tenth of a second, and the
/// bases are chained in double.
class EventClock {
 public:
  explicit EventClock(int device) : device_(device) {}
  ~EventClock();
  /// Index of the base that an event recorded on `stream` now is measured from; records a new base
  /// when the last is old.
  std::size_t base_for(cudaStream_t stream);
  Seconds time_of(cudaEvent_t event, std::size_t base);

 private:
  struct Base {
    cudaEvent_t event;
    Nanoseconds host;
    double offset_s;
    bool is_linked;
  };
  int device_;
  std::mutex mutex_;
  std::vector<Base> bases_;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(CudaDevice& device, bool has_timing);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  bool is_reached() const override;
  void wait() const override;
  Seconds reached_at() const override;

 private:
  friend class CudaStream;
  CudaDevice& device_;
  cudaEvent_t event_ = nullptr;
  bool has_timing_, is_recorded_ = false;
  std::size_t base_ = 0;
};

/// Looked at while the host waits, with how long this one wait has lasted: throws when work on the
/// stream can no longer finish (a peer of a communicator is gone).
using Watch = std::function<void(Nanoseconds waited)>;

class CudaStream final : public Stream {
 public:
  CudaStream(CudaDevice& device, std::string name, StreamPriority priority);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  const std::string& name() const override { return name_; }
  Device& device() const override;
  void record(Event& event) override;
  void wait_for(const Event& event) override;
  void synchronise() override;

  cudaStream_t handle() const { return stream_; }
  std::uint32_t index() const { return index_; }
  /// Device memory that kernels of this stream may use until the next call; grows by waiting for
  /// the stream.
  View scratch(Bytes bytes);

 private:
  CudaDevice& device_;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  std::uint32_t index_ = 0;
  Buffer scratch_;
};
inline CudaStream& cuda(Stream& stream) { return static_cast<CudaStream&>(stream); }
inline cudaStream_t handle(Stream& stream) { return cuda(stream).handle(); }
}  // namespace stepcast::runtime
