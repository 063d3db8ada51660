#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/io/json_fwd.hpp"

namespace stepcast {
/// Accelerators known by name, from vendor datasheets (dense peaks).
const std::vector<GpuSpec>& gpu_catalogue();
std::vector<std::string> gpu_names();
std::optional<GpuSpec> find_gpu(const std::string& name);

/// "gpu" of a cluster or a profile: a name, or an object with every peak spelled out, or with
/// "base" (a name) and changes.
///   { "base": "h100-sxm5-80g", "memory_GiB": 96, "clock_scale": 0.9 }
/// Reads the value at `key` of `reader`; problems are reported there.
GpuSpec read_gpu(ObjectReader& reader, const std::string& key);
Json json_of(const GpuSpec& gpu);
}  // namespace stepcast
