#pragma once
#include "runtime/backend/backend.hpp"

namespace stepcast::runtime {
/// Driver, runtime, devices and libraries in the order in which they depend on each other; opens no
/// context.
ProbeReport probe_cuda();
}  // namespace stepcast::runtime
