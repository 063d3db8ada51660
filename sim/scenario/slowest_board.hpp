#pragma once
#include "sim/scenario/scenario.hpp"

namespace stepcast {
/// Time of a product on the slowest of the boards in step over a typical board's: the expected
/// maximum of so many lognormal times with the GPU's clock_spread. >= 1. In a cluster of unlike
/// nodes boards are compared with their own kind.
double slowest_board(const Scenario& scenario, const GpuSpec& gpu);
/// For the report; "" where boards are alike.
std::string slowest_board_note(const Scenario& scenario);
}  // namespace stepcast
