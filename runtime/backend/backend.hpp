#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/device.hpp"

namespace stepcast::runtime {

/// What one part of a machine can do for us, in words.
struct ProbeItem {
  std::string part;  // "driver", "device 0", "oneDNN", "NCCL" ...
  bool is_present = false;
  std::string found;        // version or description
  std::string consequence;  // what is impossible without it; empty when present
};
struct ProbeReport {
  std::string backend;
  bool is_usable = false;
  /// When not usable: what is missing, what to do, and what can be used instead. One line each.
  std::string missing, remedy, alternative;
  std::vector<ProbeItem> items;
  std::vector<DeviceInfo> devices;
};

/// A key-value store that all ranks reach; rank 0 serves it. Values are set once. `get` waits for
/// the key up to the time limit and throws EnvironmentError naming the key.
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  virtual std::string get(const std::string& key) = 0;
  /// Address of this machine under which the other ranks reach it; "" = unknown.
  virtual std::string local_address() const { return ""; }
};

struct GroupRequest {
  std::string name;  // the same on all members, unique among groups of the run: "world", "dp0"
  int rank = 0, size = 1;
  Seconds time_limit{120};
  std::string interface;  // network interface or address; empty: store.local_address()
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  virtual ProbeReport probe() = 0;
  /// `local_rank` picks the device. Throws EnvironmentError (missing, remedy, alternative: three
  /// lines) when not usable.
  virtual std::unique_ptr<Device> open(int local_rank) = 0;
  /// Blocks until every member of the group called it.
  virtual std::unique_ptr<Communicator> new_communicator(Device&, Store&, const GroupRequest&) = 0;
};

/// A plugin exports `stepcast_backend_plugin` of this type. Plugin and program come from one build
/// of one source tree; the texts must agree, or the plugin is refused with both of them.
struct BackendPlugin {
  const char* build;     // kPluginBuild
  Backend* (*create)();  // the caller owns it
};
/// Version of this seam, and of the compiler whose layout both sides share. Raise the number with
/// every change of a header here.
inline constexpr const char* kPluginBuild = "stepcast backend 2, " __VERSION__;
inline constexpr const char* kPluginSymbol = "stepcast_backend_plugin";

/// Where a plugin was searched and why each place did not do.
struct PluginSearch {
  std::vector<std::string> tried;
};

/// "cpu" and "cuda". cuda is looked for as libstepcast_cuda.so in $STEPCAST_PLUGINS, beside the
/// binary, in ../lib/stepcast and in the build tree. A missing plugin gives a backend whose probe
/// says so; asking it to open throws. Unknown names: InputError.
std::unique_ptr<Backend> backend_of(const std::string& name);
std::vector<std::string> backend_names();
}  // namespace stepcast::runtime
