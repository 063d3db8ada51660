#pragma once
#include <memory>

#include "runtime/device/device.hpp"

namespace stepcast::runtime {
/// The least device that compressors run on: host memory, and streams whose work runs while it is
/// enqueued. For simulations of compression in one process and for tests; it has no training
/// kernels.
std::unique_ptr<Device> new_host_device();
}  // namespace stepcast::runtime
