#pragma once
#include <string>
#include <vector>

namespace stepcast {

/// One profile that can be fitted from public tables, and where its parts come from: each kind of table is taken from the
/// first folder that has it. Folders behind the first belong to relatives (same die, other board or memory).
struct ProfileTarget {
  std::string name;                   // of the profile and its file
  std::string accelerator;            // row of hw_accelerators.csv
  std::vector<std::string> folders;   // under kernels/
  double l2_MB = 0;                   // working L2: half of the chip's where it is split into two partitions
  std::string description;
};
const std::vector<ProfileTarget>& profile_targets();
/// Accelerator of hw_accelerators.csv that a folder of tables was measured on.
std::string accelerator_of_folder(const std::string& folder);
}  // namespace stepcast
