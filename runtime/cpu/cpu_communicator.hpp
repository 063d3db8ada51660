#pragma once
#include "runtime/backend/backend.hpp"

namespace stepcast::runtime {
/// A group of several ranks; gloo_communicator.cpp, or no_communicator.cpp which refuses. CMake
/// picks one.
std::unique_ptr<Communicator> new_network_communicator(Store& store, const GroupRequest& request);
/// "" where several ranks cannot be connected.
std::string network_library();
}  // namespace stepcast::runtime
