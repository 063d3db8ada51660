#pragma once
#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "runtime/device/kernels.hpp"
#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "tests/support/test.hpp"

/// The shipped plugin on the doubles. LD_LIBRARY_PATH names their folder, so the plugin's own
/// dlopen finds them.
namespace stepcast::runtime {
/// A function exported by a double.
template <class Function>
Function* from_double(const char* library, const char* name) {
  void* handle =
      dlopen((std::string(STEPCAST_DOUBLES "/") + library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) FAIL(dlerror());
  void* found = dlsym(handle, name);
  if (found == nullptr) FAIL(dlerror());
  return reinterpret_cast<Function*>(found);
}
inline void fail_at(const char* function, int n) {
  from_double<void(const char*, int)>("libcudart.so.13", "stepcast_double_fail")(function, n);
}
inline int live_objects() {
  return from_double<int()>("libcudart.so.13", "stepcast_double_live")();
}
inline void jitter(int microseconds, std::uint64_t seed) {
  from_double<void(int, std::uint64_t)>("libcudart.so.13", "stepcast_double_jitter")(microseconds,
                                                                                     seed);
}

inline std::unique_ptr<Backend> plugin() {
  from_double<int()>(
      "libcudart.so.13",
      "stepcast_double_live");  // the doubles first: the plugin's libraries resolve to them
  void* library = dlopen(STEPCAST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(dlerror());
  const auto* found = static_cast<const BackendPlugin*>(dlsym(library, kPluginSymbol));
  REQUIRE(found != nullptr);
  REQUIRE(std::string(found->build) == kPluginBuild);
  return std::unique_ptr<Backend>(found->create());
}
/// A store for ranks that are threads.
class ThreadStore final : public Store {
 public:
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
  }
  std::string get(const std::string& key) override {
    for (int i = 0; i < 5000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (const auto found = values_.find(key); found != values_.end()) return found->second;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    throw EnvironmentError("no key " + key);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};
/// Numbers on a device.
inline Buffer put(Device& device, Stream& stream, const std::vector<float>& values) {
  Buffer buffer(device, static_cast<std::int64_t>(values.size()), Precision::fp32),
      host(device, buffer.bytes(), MemoryKind::pinned_host);
  std::memcpy(host.data(), values.data(), values.size() * sizeof(float));
  device.copy(stream, buffer.data(), host.data(), buffer.bytes());
  stream.synchronise();
  return buffer;
}
inline std::vector<float> get(Device& device, Stream& stream, const Buffer& buffer) {
  Buffer host(device, buffer.bytes(), MemoryKind::pinned_host);
  device.copy(stream, host.data(), buffer.data(), buffer.bytes());
  stream.synchronise();
  std::vector<float> values(static_cast<std::size_t>(buffer.bytes().value / 4));
  std::memcpy(values.data(), host.data(), values.size() * sizeof(float));
  return values;
}
inline std::vector<float> numbers(std::int64_t n, std::uint64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(
        static_cast<float>(normal_from_bits(mixed_bits(seed, static_cast<std::uint64_t>(i)))));
  return values;
}
}  // namespace stepcast::runtime
