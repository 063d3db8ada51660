#pragma once
#include <vector>

#include "calibrate/measure/journal.hpp"
#include "sim/profile/profile.hpp"

namespace stepcast::calibrate {
/// What compressors cost here over what the profile's bandwidth fits say of the simulator's pieces
/// of them, as the parameters encode_factor_SCHEME and decode_factor_SCHEME that its cost model
/// reads; ratio and error beside them (compression_ratio_SCHEME, compression_error_SCHEME). One
/// figure per scheme: the median over the sizes that were measured. Without the simulator's op
/// graph (a build for measuring only) nothing is added. Pure.
void add_compression_factors(const std::vector<Entry>& entries, int ranks, Profile& profile);
}  // namespace stepcast::calibrate
