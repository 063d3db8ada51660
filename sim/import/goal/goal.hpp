#pragma once
#include <string>
#include <string_view>

#include "sim/import/common/anomalies.hpp"
#include "sim/import/replay/workload_file.hpp"

/// GOAL schedules in text form (LogGOPSim, ATLAHS):
///   num_ranks 4
///   rank 0 {
///   l1: calc 100                     nanoseconds of work            [cpu N]
///   l2: send 1024b to 3 tag 0        bytes                          [cpu N] [nic N]
///   l3: recv 1024b from 2 tag 5
///   l2 requires l1                   starts after l1 has ended
///   l3 irequires l2                  starts after l2 has started
///   }
namespace stepcast::goal {
bool sniff(std::string_view head);
/// Transfer times are not part of a GOAL file: 3.7 us + bytes x 0.04 ns of ATLAHS' published fit
/// (200 Gb/s fabric) fill them until the network is replaced; a note says so. Throws InputError.
Workload read_schedule(const std::string& path, Anomalies& anomalies);
}  // namespace stepcast::goal
