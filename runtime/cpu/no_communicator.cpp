#include "runtime/cpu/cpu_communicator.hpp"
#include "sim/core/assert.hpp"

/// Where Gloo is not built in: one rank only.
namespace stepcast::runtime {
std::unique_ptr<Communicator> new_network_communicator(Store& /*store*/,
                                                       const GroupRequest& request) {
  throw EnvironmentError("the cpu backend was built without Gloo and cannot connect the " +
                         std::to_string(request.size) + " ranks of \"" + request.name +
                         "\"; install libgloo-dev and build again");
}
std::string network_library() { return ""; }
}  // namespace stepcast::runtime
