#include <dlfcn.h>

#include "runtime/backend/plugin.hpp"
#include "runtime/cpu/cpu_backend.hpp"
#include "sim/core/result.hpp"

namespace stepcast::runtime {
namespace {
/// Stands where the plugin is missing: it can say what is missing and nothing else.
class MissingCuda final : public Backend {
 public:
  explicit MissingCuda(PluginSearch search) : search_(std::move(search)) {}
  const char* name() const override { return "cuda"; }
  ProbeReport probe() override {
    ProbeReport report;
    report.backend = name();
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    report.items.push_back(
        {"driver", driver != nullptr,
         driver != nullptr ? "libcuda.so.1" : "libcuda.so.1 is not on this machine",
         driver != nullptr ? "" : "no GPU can be used"});
    if (driver != nullptr) dlclose(driver);
    report.items.push_back(
        {"plugin", false, joined(search_.tried, "; "), "this build has no cuda backend"});
    report.missing = driver == nullptr
                         ? "backend cuda: no NVIDIA driver on this machine (libcuda.so.1 is "
                           "missing), and this build has no cuda plugin"
                         : "backend cuda: this build has no cuda plugin (libstepcast_cuda.so)";
    report.remedy = driver == nullptr ? "to use a GPU: run on a machine with the NVIDIA driver, "
                                        "with a build made where the CUDA toolkit is installed"
                                      : "to get it: configure with -DSTEPCAST_CUDA=ON where the "
                                        "CUDA toolkit is installed, or set STEPCAST_PLUGINS";
    report.alternative = "without a GPU: --backend cpu measures this machine's CPU";
    return report;
  }
  std::unique_ptr<Device> open(int) override { refuse(); }
  std::unique_ptr<Communicator> new_communicator(Device&, Store&, const GroupRequest&) override {
    refuse();
  }

 private:
  [[noreturn]] void refuse() {
    const ProbeReport report = probe();
    throw EnvironmentError(report.missing + "\n" + report.remedy + "\n" + report.alternative);
  }
  PluginSearch search_;
};
}  // namespace

std::vector<std::string> backend_names() { return {"cpu", "cuda"}; }

std::unique_ptr<Backend> backend_of(const std::string& name) {
  if (name == "cpu") return new_cpu_backend();
  if (name == "cuda") {
    PluginSearch search;
    if (auto plugin = load_plugin("libstepcast_cuda.so", search)) return plugin;
    return std::make_unique<MissingCuda>(std::move(search));
  }
  const std::string near = nearest_name(name, backend_names());
  throw InputError(Problem{"command line", "--backend",
                           "\"" + name + "\" is not one of " + joined(backend_names()),
                           near.empty() ? "" : "did you mean \"" + near + "\"?"});
}
}  // namespace stepcast::runtime
