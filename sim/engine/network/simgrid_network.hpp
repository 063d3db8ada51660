#pragma once
#include <memory>

#include "sim/engine/network.hpp"

namespace stepcast {
/// The network as SimGrid simulates it. SimGrid holds one engine per process, so one such network
/// at a time: a second one beside it throws InternalError. One after another works, but SimGrid's
/// clock goes on from one to the next and its resolution shrinks with the date (7e-6 of a
/// microsecond's event at 1e5 s): sweeps fork a child per simulation.
std::unique_ptr<Network> make_simgrid_network();

/// True until the first SimGrid network of this process is made: its clock then starts at 0.
bool simgrid_is_fresh();
}  // namespace stepcast
