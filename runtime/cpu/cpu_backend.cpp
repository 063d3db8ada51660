#include "runtime/cpu/cpu_backend.hpp"

#include <fmt/format.h>

#include "runtime/comm/single_communicator.hpp"
#include "runtime/cpu/cpu_communicator.hpp"
#include "runtime/cpu/cpu_device.hpp"
#include "runtime/cpu/sgemm.hpp"

namespace stepcast::runtime {
namespace {
class CpuBackend final : public Backend {
 public:
  const char* name() const override { return "cpu"; }
  ProbeReport probe() override {
    ProbeReport report;
    report.backend = name();
    report.is_usable = true;
    const DeviceInfo info = cpu_info();
    report.devices.push_back(info);
    report.items.push_back(
        {"cores", true, fmt::format("{} usable; a rank computes on one", info.compute_units), ""});
    report.items.push_back(
        {"matrix products", has_onednn(), sgemm_library(),
         has_onednn()
             ? ""
             : "products run at about a third of the machine's rate; build with libdnnl-dev"});
    const std::string network = network_library();
    report.items.push_back({"collectives", !network.empty(),
                            network.empty() ? "not built in" : network,
                            network.empty() ? "one rank only; build with libgloo-dev" : ""});
    report.items.push_back({"precision", true, "fp32", ""});
    return report;
  }
  std::unique_ptr<Device> open(int /*local_rank*/) override {
    return std::make_unique<CpuDevice>(cpu_info());
  }
  std::unique_ptr<Communicator> new_communicator(Device& device, Store& store,
                                                 const GroupRequest& request) override {
    if (request.size == 1) return std::make_unique<SingleCommunicator>(device);
    return new_network_communicator(store, request);
  }
};
}  // namespace

std::unique_ptr<Backend> new_cpu_backend() { return std::make_unique<CpuBackend>(); }
}  // namespace stepcast::runtime
