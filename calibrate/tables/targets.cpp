#include "calibrate/tables/targets.hpp"

#include "sim/core/assert.hpp"

namespace stepcast {

const std::vector<ProfileTarget>& profile_targets() {
  // L2 sizes: vendor whitepapers (V100 6 MB, A100 40 MB, H100 and H200 50 MB, B200 126 MB, L40S 96 MB; MI300X 256 MB
  // Infinity Cache). The cast tables show the step from L2 to DRAM near two thirds of them (H100: above 33 MB).
  static const std::vector<ProfileTarget> targets{
      {"v100-sxm2", "V100-SXM2-32GB", {"v100-sxm2", "v100-pcie-32g", "h100-sxm5-80g", "h200-sxm5-141g"}, 4, "NVIDIA V100 SXM2"},
      {"a100-sxm4-40g", "A100-SXM4-40GB", {"a100-sxm4-80g", "a100-pcie-80g", "h100-sxm5-80g", "h200-sxm5-141g"}, 27,
       "NVIDIA A100 SXM4 40 GB; kernels measured on the 80 GB board"},
      {"a100-sxm4-80g", "A100-SXM4-80GB", {"a100-sxm4-80g", "a100-pcie-80g", "h100-sxm5-80g", "h200-sxm5-141g"}, 27, "NVIDIA A100 SXM4 80 GB"},
      {"h100-sxm5-80g", "H100-SXM5-80GB", {"h100-sxm5-80g", "h200-sxm5-141g", "a100-pcie-80g"}, 33, "NVIDIA H100 SXM5 80 GB"},
      {"h200-sxm5-141g", "H200", {"h200-sxm5-141g", "h100-sxm5-80g", "a100-pcie-80g"}, 33, "NVIDIA H200 SXM5 141 GB"},
      {"b200-sxm", "B200", {"b200-sxm", "gb200", "h100-sxm5-80g", "a100-pcie-80g"}, 84, "NVIDIA B200 SXM"},
      {"gb200", "GB200", {"gb200", "b200-sxm", "h100-sxm5-80g", "a100-pcie-80g"}, 84, "NVIDIA GB200 (NVL72)"},
      {"gb300", "GB300", {"gb300", "gb200", "b200-sxm", "h100-sxm5-80g", "a100-pcie-80g"}, 84, "NVIDIA GB300; GEMM and attention forward from GB200"},
      {"l40s", "L40S", {"l40s", "a100-pcie-80g", "h100-sxm5-80g", "h200-sxm5-141g"}, 64, "NVIDIA L40S"},
      {"mi300x", "MI300X", {"mi300x"}, 0, "AMD Instinct MI300X; GEMM of a tuner, the rest datasheet"},
      {"mi325x", "MI325X", {"mi300x"}, 0, "AMD Instinct MI325X; GEMM of the MI300X, the rest datasheet"},
      {"mi355x", "MI355X", {"mi355x"}, 0, "AMD Instinct MI355X; GEMM of a tuner, the rest datasheet"},
  };
  return targets;
}

std::string accelerator_of_folder(const std::string& folder) {
  if (folder == "a100-pcie-80g") return "A100-PCIe-80GB";
  if (folder == "v100-pcie-32g") return "V100-SXM2-32GB";  // the PCIe card's memory runs at the same 900 GB/s
  for (const ProfileTarget& target : profile_targets())
    if (target.folders.front() == folder && target.name != "a100-sxm4-40g" && target.name != "mi325x") return target.accelerator;
  STEPCAST_ASSERT(false, "every folder that a target names is listed here");
  return "";
}
}  // namespace stepcast
