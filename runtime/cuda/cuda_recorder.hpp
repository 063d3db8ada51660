#pragma once
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "runtime/capture/device_records.hpp"
#include "runtime/capture/recorder.hpp"

namespace stepcast::runtime {
/// Fills the recorder from CUPTI: kernels, copies and fills with the device's own times, matched to
/// labels by external correlation. Labels are NVTX ranges as well, so that other profilers show
/// them.
class CudaRecorder final : public Recorder {
 public:
  std::uint32_t add_stream(const std::string& name, cudaStream_t stream);
  void forget_stream(cudaStream_t stream);
  /// What the last recording lost, by name; empty when complete.
  const RecordLosses& losses() const { return losses_; }

 protected:
  void on_start() override;
  void on_stop() override;
  void on_open(std::int32_t label) override;
  void on_close(std::int32_t label) override;

 private:
  std::mutex mutex_;
  std::map<cudaStream_t, std::uint32_t> streams_;
  std::map<std::uint32_t, std::uint32_t> index_of_;  // CUPTI's stream id -> ours
  RecordLosses losses_;
  bool is_tracing_ = false;
  bool has_stale_label_ = false;  // a label that could not be closed names what came after it, too
};
}  // namespace stepcast::runtime
