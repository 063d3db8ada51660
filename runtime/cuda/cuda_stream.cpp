#include "runtime/cuda/cuda_stream.hpp"

#include <chrono>
#include <thread>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
constexpr Nanoseconds kBaseLife =
    100'000'000;  // at 100 ms a float of milliseconds resolves 8 ns, below an event's own 500 ns

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  STEPCAST_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}
/// Waits for `is_done` and looks at the watches of the device meanwhile. The first milliseconds
/// spin, so that short waits are short.
template <class IsDone>
void wait_until(const CudaDevice& device, const IsDone& is_done) {
  Nanoseconds begin = 0;
  for (long round = 0; !is_done(); ++round) {
    if (round < 1000) continue;
    if (begin == 0) begin = Recorder::now();
    device.look_at_watches(Recorder::now() - begin);
    std::this_thread::sleep_for(std::chrono::microseconds(round < 2000 ? 20 : 200));
  }
}
bool is_success(cudaError_t status, const char* call) {
  if (status == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(status, call, __FILE__, __LINE__);
  return true;
}
}  // namespace

EventClock::~EventClock() {
  for (const Base& base : bases_) cudaEventDestroy(base.event);
}
std::size_t EventClock::base_for(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const Nanoseconds now = Recorder::now();
  if (bases_.empty() || (now - bases_.back().host > kBaseLife && !is_capturing(stream))) {
    cudaEvent_t event = nullptr;
    STEPCAST_CUDA(cudaEventCreateWithFlags(&event, cudaEventDefault));
    if (const cudaError_t status = cudaEventRecord(event, stream); status != cudaSuccess) {
      cudaEventDestroy(event);
      check(status, "cudaEventRecord", __FILE__, __LINE__);
    }
    bases_.push_back({event, now, 0.0, bases_.empty()});
  }
  return bases_.size() - 1;
}
Seconds EventClock::time_of(cudaEvent_t event, std::size_t base) {
  const std::lock_guard lock(mutex_);
  float milliseconds = 0;
  for (std::size_t i = 1; i <= base; ++i) {
    if (bases_[i].is_linked) continue;
    // A base on another, busy stream may be behind the event that refers to a later one.
    STEPCAST_CUDA(cudaEventSynchronize(bases_[i].event));
    STEPCAST_CUDA(cudaEventElapsedTime(&milliseconds, bases_[i - 1].event, bases_[i].event));
    bases_[i].offset_s = bases_[i - 1].offset_s + static_cast<double>(milliseconds) * 1e-3;
    bases_[i].is_linked = true;
  }
  STEPCAST_CUDA(cudaEventSynchronize(bases_[base].event));
  STEPCAST_CUDA(cudaEventElapsedTime(&milliseconds, bases_[base].event, event));
  return Seconds(bases_[base].offset_s + static_cast<double>(milliseconds) * 1e-3);
}

CudaEvent::CudaEvent(CudaDevice& device, bool has_timing)
    : device_(device), has_timing_(has_timing) {
  device_.use();
  STEPCAST_CUDA(
      cudaEventCreateWithFlags(&event_, has_timing ? cudaEventDefault : cudaEventDisableTiming));
}
CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }
bool CudaEvent::is_reached() const {
  return is_recorded_ && is_success(cudaEventQuery(event_), "cudaEventQuery");
}
void CudaEvent::wait() const {
  if (!is_recorded_) return;
  device_.use();
  wait_until(device_, [&] { return is_success(cudaEventQuery(event_), "cudaEventQuery"); });
}
Seconds CudaEvent::reached_at() const {
  STEPCAST_ASSERT(has_timing_ && is_recorded_, "the contract asks for a reached event with timing");
  return device_.clock().time_of(event_, base_);
}

CudaStream::CudaStream(CudaDevice& device, std::string name, StreamPriority priority)
    : device_(device), name_(std::move(name)) {
  device_.use();
  int lowest = 0, highest = 0;
  STEPCAST_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  STEPCAST_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                             priority == StreamPriority::high ? highest : lowest));
  index_ = device_.cuda_recorder().add_stream(name_, stream_);
  device_.add_stream(this);
}
CudaStream::~CudaStream() {
  try {
    synchronise();  // with the watches: work that waits for a dead peer ends with its communicator
  } catch (...) {
    cudaStreamSynchronize(stream_);  // what failed was reported, or will be by its next user
  }
  device_.remove_stream(this);
  device_.cuda_recorder().forget_stream(stream_);
  cudaStreamDestroy(stream_);
}
Device& CudaStream::device() const { return device_; }
void CudaStream::record(Event& event) {
  auto& own = static_cast<CudaEvent&>(event);
  device_.use();
  if (own.has_timing_) own.base_ = device_.clock().base_for(stream_);
  STEPCAST_CUDA(cudaEventRecord(own.event_, stream_));
  own.is_recorded_ = true;
}
void CudaStream::wait_for(const Event& event) {
  const auto& own = static_cast<const CudaEvent&>(event);
  if (!own.is_recorded_) return;
  device_.use();
  STEPCAST_CUDA(cudaStreamWaitEvent(stream_, own.event_, 0));
}
void CudaStream::synchronise() {
  device_.use();
  wait_until(device_, [&] { return is_success(cudaStreamQuery(stream_), "cudaStreamQuery"); });
}
View CudaStream::scratch(Bytes bytes) {
  if (scratch_.bytes() < bytes) {
    synchronise();
    scratch_ = Buffer();  // first give back, then ask for more
    scratch_ = Buffer(device_, bytes);
  }
  return scratch_.view();
}
}  // namespace stepcast::runtime
