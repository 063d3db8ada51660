#include "calibrate/tables/targets.hpp"

#include "sim/cluster/gpu_catalogue.hpp"
#include "sim/core/assert.hpp"

namespace stepcast {

const std::vector<ProfileTarget>& profile_targets() {
  // L2 sizes: vendor whitepapers (V100 6 MB, A100 40 MB, H100 and H200 50 MB, B200 126 MB, L40S 96
  // MB; MI300X 256 MB Infinity Cache). The cast tables show the step from L2 to DRAM near two
  // thirds of them (H100: above 33 MB).
  static const std::vector<ProfileTarget> targets{
      {"v100-sxm2-32g",
       {"v100-sxm2", "v100-pcie-32g", "h100-sxm5-80g", "h200-sxm5-141g"},
       4,
       "NVIDIA V100 SXM2 32 GB"},
      {"v100-sxm3-32g",
       {"v100-sxm2", "v100-pcie-32g", "h100-sxm5-80g", "h200-sxm5-141g"},
       4,
       "NVIDIA V100 SXM3 32 GB; kernels measured on SXM2"},
      {"a100-sxm4-40g",
       {"a100-sxm4-80g", "a100-pcie-80g", "h100-sxm5-80g", "h200-sxm5-141g"},
       27,
       "NVIDIA A100 SXM4 40 GB; kernels measured on the 80 GB board"},
      {"a100-sxm4-80g",
       {"a100-sxm4-80g", "a100-pcie-80g", "h100-sxm5-80g", "h200-sxm5-141g"},
       27,
       "NVIDIA A100 SXM4 80 GB"},
      {"h100-sxm5-80g",
       {"h100-sxm5-80g", "h200-sxm5-141g", "a100-pcie-80g"},
       33,
       "NVIDIA H100 SXM5 80 GB"},
      {"h200-sxm5-141g",
       {"h200-sxm5-141g", "h100-sxm5-80g", "a100-pcie-80g"},
       33,
       "NVIDIA H200 SXM5 141 GB"},
      {"b200-sxm", {"b200-sxm", "gb200", "h100-sxm5-80g", "a100-pcie-80g"}, 84, "NVIDIA B200 SXM"},
      {"gb200",
       {"gb200", "b200-sxm", "h100-sxm5-80g", "a100-pcie-80g"},
       84,
       "NVIDIA GB200 (NVL72)"},
      {"gb300",
       {"gb300", "gb200", "b200-sxm", "h100-sxm5-80g", "a100-pcie-80g"},
       84,
       "NVIDIA GB300; GEMM and attention forward from GB200"},
      {"b300-sxm",
       {"gb300", "b200-sxm", "gb200", "h100-sxm5-80g", "a100-pcie-80g"},
       84,
       "NVIDIA B300 SXM; GEMM and attention forward from B200"},
      {"l40s", {"l40s", "a100-pcie-80g", "h100-sxm5-80g", "h200-sxm5-141g"}, 64, "NVIDIA L40S"},
      {"mi300x", {"mi300x"}, 0, "AMD Instinct MI300X; GEMM of a tuner, the rest datasheet"},
      {"mi325x", {"mi300x"}, 0, "AMD Instinct MI325X; GEMM of the MI300X, the rest datasheet"},
      {"mi355x", {"mi355x"}, 0, "AMD Instinct MI355X; GEMM of a tuner, the rest datasheet"},
      {"mi250x", {}, 0, "AMD Instinct MI250X, both dies; datasheet only"},
      {"tpu-v4", {}, 0, "Google TPU v4; datasheet only"},
      {"tpu-v5e", {}, 0, "Google TPU v5e; datasheet only"},
      {"tpu-v5p", {}, 0, "Google TPU v5p; datasheet only"},
  };
  return targets;
}

std::string gpu_of_folder(const std::string& folder) {
  return folder == "v100-sxm2" ? "v100-sxm2-32g" : folder;
}

GpuSpec catalogued_gpu(const std::string& name) {
  const auto gpu = find_gpu(name);
  STEPCAST_ASSERT(gpu.has_value(),
                  "every target and every folder of tables names a GPU of the catalogue");
  return *gpu;
}
}  // namespace stepcast
