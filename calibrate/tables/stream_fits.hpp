#pragma once
#include <vector>

#include "calibrate/tables/bandwidth_fit.hpp"
#include "calibrate/tables/targets.hpp"

namespace stepcast {
/// Every kind of bandwidth-bound kernel of one target: fitted from its own tables where they exist,
/// else transferred from the first relative that has one, else (optimizer, embedding, loss) from
/// published single figures.
std::vector<BandwidthFit> fit_streams(TableSet& tables, const ProfileTarget& target,
                                      const GpuSpec& gpu, double latency_us);
}  // namespace stepcast
