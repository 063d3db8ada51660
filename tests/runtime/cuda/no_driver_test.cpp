#include <dlfcn.h>

#include "runtime/backend/backend.hpp"
#include "sim/core/assert.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE(
    "the plugin loads with the real CUDA runtime and says in three lines what a machine without a "
    "driver lacks",
    "[cuda]") {
  if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY); driver != nullptr) {
    WARN("skipped: this machine has a driver");
    return;
  }
  void* library = dlopen(STEPCAST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(dlerror());
  const auto* found = static_cast<const BackendPlugin*>(dlsym(library, kPluginSymbol));
  REQUIRE(found != nullptr);
  REQUIRE(std::string(found->build) == kPluginBuild);
  const std::unique_ptr<Backend> backend(found->create());
  const ProbeReport report = backend->probe();
  REQUIRE_FALSE(report.is_usable);
  std::string text;
  try {
    backend->open(0);
  } catch (const EnvironmentError& error) {
    text = error.what();
  }
  REQUIRE(text == report.missing + "\n" + report.remedy + "\n" + report.alternative);
  REQUIRE(text.find("no NVIDIA driver on this machine") != std::string::npos);
  bool has_nccl = false;
  for (const ProbeItem& item : report.items)
    has_nccl =
        has_nccl || (item.part == "NCCL" && item.is_present && item.found.rfind("2.", 0) == 0);
  REQUIRE(has_nccl);
}
