#include "runtime/cuda/cuda_recorder.hpp"

#include <nvtx3/nvToolsExt.h>

#include <string>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/cupti_source.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
std::uint32_t CudaRecorder::add_stream(const std::string& name, cudaStream_t stream) {
  const std::uint32_t index = Recorder::add_stream(name);
  const std::lock_guard lock(mutex_);
  streams_[stream] = index;
  if (is_tracing_) index_of_[cupti::stream_id(stream)] = index;
  return index;
}
void CudaRecorder::forget_stream(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);  // its CUPTI id stays known: records of its work may still be buffered
}
void CudaRecorder::on_start() {
  const std::lock_guard lock(mutex_);
  losses_ = {};
  cupti::start();
  index_of_.clear();
  try {
    for (const auto& [stream, index] : streams_) index_of_[cupti::stream_id(stream)] = index;
  } catch (...) {
    cupti::stop();
    throw;
  }
  has_stale_label_ = false;
  is_tracing_ = true;
}
void CudaRecorder::on_stop() {
  STEPCAST_CUDA(cudaDeviceSynchronize());
  const std::lock_guard lock(mutex_);
  if (!is_tracing_) return;
  is_tracing_ = false;
  RecordBatch batch = cupti::stop();
  const std::vector<Activity> found = activities_of(batch, index_of_, {});
  losses_ = batch.losses;
  if (has_stale_label_)
    throw EnvironmentError(
        "the device's trace is not to be trusted: cuptiActivityPopExternalCorrelationId failed, so "
        "work has the label of an op before it");
  if (losses_.spoils(static_cast<std::int64_t>(found.size())))
    throw EnvironmentError("the device's trace is not to be trusted: " + losses_.text());
  for (const Activity& activity : found) add(activity);
}
void CudaRecorder::on_open(std::int32_t label) {
  if (is_tracing_) cupti::push(static_cast<std::uint64_t>(label) + 1);
  nvtxRangePushA(std::string(labels()[static_cast<std::size_t>(label)].name).c_str());
}
void CudaRecorder::on_close(std::int32_t) {
  if (is_tracing_ && !cupti::pop()) has_stale_label_ = true;
  nvtxRangePop();
}
}  // namespace stepcast::runtime
