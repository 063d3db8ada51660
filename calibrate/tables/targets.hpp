#pragma once
#include <string>
#include <vector>

#include "sim/cluster/cluster_spec.hpp"

namespace stepcast {

/// One profile that can be fitted from public tables, and where its parts come from: each kind of
/// table is taken from the first folder that has it. Folders behind the first belong to relatives
/// (same die, other board or memory).
struct ProfileTarget {
  std::string name;                  // of the profile, its file and its GPU in the catalogue
  std::vector<std::string> folders;  // under kernels/
  double l2_MB = 0;  // working L2: half of the chip's where it is split into two partitions
  std::string description;
};
const std::vector<ProfileTarget>& profile_targets();
/// GPU of the catalogue that a folder of tables was measured on.
std::string gpu_of_folder(const std::string& folder);
/// Its datasheet; every name that a target uses is in the catalogue.
GpuSpec catalogued_gpu(const std::string& name);
}  // namespace stepcast
