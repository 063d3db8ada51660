#pragma once
#include <string>
#include <vector>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/core/result.hpp"
#include "sim/profile/collective_profile.hpp"
#include "sim/profile/kernel_profile.hpp"

namespace stepcast {
/// One GPU's calibration: what the datasheet promises (gpu), what was measured of it, and where
/// that came from.
struct Profile {
  std::string name, description;
  GpuSpec gpu;
  KernelProfile kernels;
  CollectiveProfile collectives;
  std::vector<std::string> sources;         // citations: repository @ commit, licence
  std::vector<std::string> datasheet_only;  // parts nothing was measured for
};
Result<Profile> read_profile(const std::string& path);
Json json_of(const Profile& profile);
}  // namespace stepcast
