#pragma once
#include <string_view>

/// Names of what the host does beside issuing kernels; the rest of the names is in op_names.hpp.
namespace stepcast::op {
inline constexpr std::string_view
    negotiate = "negotiate",      // the framework agrees on which gradients to send
    host_copy = "host_copy",      // between GPU and host memory
    host_update = "host_update",  // optimizer on the CPUs
    hand_over = "hand_over";      // idle until a stream notices that its turn has come
}  // namespace stepcast::op
