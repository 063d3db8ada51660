#pragma once
#include <span>
#include <utility>
#include <vector>

/// Which sizes of a measured curve something held up, told by the other sizes of the same run.
namespace stepcast::nccl_tests {

/// A time is called held up beyond this multiple of what its other sizes bound it to. NCCL picks
/// algorithm and protocol by its own estimate, so at a change a sound curve may stand above the
/// bound for a size. Source: the twelve public sweeps of one node with two sizes and more
/// (data/measured/nccl_points.csv) stay at 1.12 and below, but for cold starts at 32 and 256 bytes.
inline constexpr double kHeldUp = 1.25;

/// The most that each point of a curve needs by the word of the others: a buffer never needs more
/// time than a larger one (it could be padded), nor more than so many smaller ones as hold it (it
/// could be sent in pieces), as long as a size behind it comes back to the rate of the pieces
/// within kHeldUp. A rate that falls for good is the network's: public pairs of nodes under
/// different leaf switches fall from 17 to 6 GB/s between 1 and 16 GiB, and do so again. Points are
/// (bytes, any unit of time) by rising size; no result exceeds its own time. Fails: neighbours that
/// were all held up bound nothing.
std::vector<double> bounded_times(std::span<const std::pair<double, double>> points);
}  // namespace stepcast::nccl_tests
