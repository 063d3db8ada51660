#include "runtime/comm/single_communicator.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/nccl_communicator.hpp"
#include "runtime/cuda/probe.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
class CudaBackend final : public Backend {
 public:
  const char* name() const override { return "cuda"; }
  ProbeReport probe() override { return probe_cuda(); }
  std::unique_ptr<Device> open(int local_rank) override {
    const ProbeReport report = probe_cuda();
    if (!report.is_usable)
      throw EnvironmentError(report.missing + "\n" + report.remedy + "\n" + report.alternative);
    const auto count = static_cast<int>(report.devices.size());
    if (local_rank >= count)
      throw EnvironmentError("backend cuda: local rank " + std::to_string(local_rank) +
                             " has no GPU, this machine shows " + std::to_string(count) +
                             "\nto use it: start at most " + std::to_string(count) +
                             " ranks per node, or make more GPUs visible" +
                             "\ninstead: --backend cpu takes any number of ranks");
    return std::make_unique<CudaDevice>(local_rank,
                                        report.devices[static_cast<std::size_t>(local_rank)]);
  }
  std::unique_ptr<Communicator> new_communicator(Device& device, Store& store,
                                                 const GroupRequest& request) override {
    auto& own = static_cast<CudaDevice&>(device);
    // A group of one needs no NCCL, so one GPU without it trains.
    if (request.size == 1) return std::make_unique<SingleCommunicator>(own);
    return new_nccl_communicator(own, store, request);
  }
};
}  // namespace
Backend* create_cuda_backend() { return new CudaBackend; }
}  // namespace stepcast::runtime

extern "C" __attribute__((visibility("default")))
const stepcast::runtime::BackendPlugin stepcast_backend_plugin;
const stepcast::runtime::BackendPlugin stepcast_backend_plugin{
    stepcast::runtime::kPluginBuild, &stepcast::runtime::create_cuda_backend};
