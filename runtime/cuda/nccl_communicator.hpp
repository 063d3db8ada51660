#pragma once
#include <memory>

#include "runtime/backend/backend.hpp"

namespace stepcast::runtime {
class CudaDevice;
/// Blocks until every member of the group called it, or throws after the request's time limit.
std::unique_ptr<Communicator> new_nccl_communicator(CudaDevice&, Store&, const GroupRequest&);
bool nccl_is_present();
int nccl_version();
}  // namespace stepcast::runtime
