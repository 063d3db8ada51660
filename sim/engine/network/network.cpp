#include "sim/engine/network.hpp"

#include "sim/core/assert.hpp"
#include "sim/engine/network/native_network.hpp"
#include "sim/engine/network/simgrid_network.hpp"

namespace stepcast {
std::unique_ptr<Network> make_network(EngineKind kind) {
  switch (kind) {
    case EngineKind::simgrid:
      return make_simgrid_network();
    case EngineKind::native:
      return std::make_unique<NativeNetwork>();
    case EngineKind::analytic:
      return std::make_unique<NativeNetwork>(MaxMin::Sharing::none);
  }
  throw InternalError("an engine kind without a network");
}
}  // namespace stepcast
