#pragma once
#include <cstddef>
#include <vector>

#include "calibrate/measure/stopping_rule.hpp"

/// What of many steps' ops adds up to the median step. Pure.
namespace stepcast::calibrate {

/// Places of the middle half of the steps by their last figure, which is the whole step. A step's
/// own median leaves out the fastest and the slowest steps, and so must the ops it is compared
/// with: medians of a hundred ops miss every slice that the system took from one of them, and their
/// means hold the steps in which the machine went at another speed.
std::vector<std::size_t> typical_steps(const std::vector<std::vector<double>>& steps);

/// The figures at `columns` of every step; its trimmed mean is the mean over the typical steps.
Summary summary_of_columns(const std::vector<std::vector<double>>& steps,
                           const std::vector<std::size_t>& columns,
                           const std::vector<std::size_t>& typical);
}  // namespace stepcast::calibrate
