#include "sim/launch/gpu_labels.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "sim/cluster/gpu_catalogue.hpp"

namespace stepcast::launch {
namespace {
using Pair = std::pair<const char*, const char*>;
// NVIDIA GPU feature discovery writes nvidia-smi's product name with '-' for ' ' (README of
// NVIDIA/k8s-device-plugin, "Generated Labels"); AMD's node labeller amd.com/gpu.product-name.
constexpr std::array kProducts{Pair{"h100-sxm5-80g", "NVIDIA-H100-80GB-HBM3"},
                               Pair{"h100-pcie-80g", "NVIDIA-H100-PCIe"},
                               Pair{"h200-sxm5-141g", "NVIDIA-H200"},
                               Pair{"a100-sxm4-80g", "NVIDIA-A100-SXM4-80GB"},
                               Pair{"a100-sxm4-40g", "NVIDIA-A100-SXM4-40GB"},
                               Pair{"a100-pcie-80g", "NVIDIA-A100-80GB-PCIe"},
                               Pair{"a100-pcie-40g", "NVIDIA-A100-PCIE-40GB"},
                               Pair{"v100-sxm2-32g", "Tesla-V100-SXM2-32GB"},
                               Pair{"v100-sxm2-16g", "Tesla-V100-SXM2-16GB"},
                               Pair{"v100-sxm3-32g", "Tesla-V100-SXM3-32GB"},
                               Pair{"b200-sxm", "NVIDIA-B200"},
                               Pair{"b300-sxm", "NVIDIA-B300-SXM6-AC"},
                               Pair{"gb200", "NVIDIA-GB200"},
                               Pair{"gb300", "NVIDIA-GB300"},
                               Pair{"l40s", "NVIDIA-L40S"},
                               Pair{"l4", "NVIDIA-L4"},
                               Pair{"t4", "Tesla-T4"},
                               Pair{"a10g", "NVIDIA-A10G"},
                               Pair{"mi300x", "AMD_Instinct_MI300X_OAM"},
                               Pair{"mi325x", "AMD_Instinct_MI325X_OAM"},
                               Pair{"mi355x", "AMD_Instinct_MI355X_OAM"}};
// node.kubernetes.io/instance-type of the clouds, and cloud.google.com/gke-accelerator. Sources:
// the providers' pages of accelerated machine types; presets carry their own.
constexpr std::array kMachines{Pair{"p3dn.24xlarge", "aws-p3dn"},
                               Pair{"p4d.24xlarge", "aws-p4d"},
                               Pair{"p4de.24xlarge", "aws-p4de"},
                               Pair{"p5.48xlarge", "aws-p5"},
                               Pair{"p5e.48xlarge", "aws-p5e"},
                               Pair{"p5en.48xlarge", "aws-p5en"},
                               Pair{"p6-b200.48xlarge", "aws-p6-b200"},
                               Pair{"p6-b300.48xlarge", "aws-p6-b300"},
                               Pair{"standard_nd96amsr_a100_v4", "azure-nd-a100-v4"},
                               Pair{"standard_nd96isr_h100_v5", "azure-nd-h100-v5"},
                               Pair{"a2-highgpu-8g", "gcp-a2"},
                               Pair{"a3-highgpu-8g", "gcp-a3-high"},
                               Pair{"a3-megagpu-8g", "gcp-a3-mega"},
                               Pair{"a3-ultragpu-8g", "gcp-a3-ultra"},
                               Pair{"a4-highgpu-8g", "gcp-a4"},
                               Pair{"nvidia-tesla-a100", "gcp-a2"},
                               Pair{"nvidia-h100-80gb", "gcp-a3-high"},
                               Pair{"nvidia-h100-mega-80gb", "gcp-a3-mega"},
                               Pair{"nvidia-h200-141gb", "gcp-a3-ultra"},
                               Pair{"nvidia-b200", "gcp-a4"},
                               Pair{"bm.gpu4.8", "oci-a100"},
                               Pair{"bm.gpu.h100.8", "oci-h100"}};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}
/// Words of a name, lower case: "NVIDIA-H100-80GB-HBM3" -> nvidia h100 80g hbm3.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : lower(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  for (std::string& word : words)
    if (word.ends_with("gb") && std::isdigit(static_cast<unsigned char>(word.front())) != 0)
      word.pop_back();
  if (words.back().empty()) words.pop_back();
  return words;
}
}  // namespace

std::optional<NodeLabel> label_of_gpu(const std::string& gpu) {
  for (const auto& [name, product] : kProducts)
    if (gpu == name)
      return NodeLabel{
          gpu.starts_with("mi") ? "amd.com/gpu.product-name" : "nvidia.com/gpu.product", product};
  return std::nullopt;
}

std::string gpu_of_label(const std::string& value) {
  for (const auto& [name, product] : kProducts)
    if (lower(value) == lower(product)) return name;
  const std::vector<std::string> words = words_of(value);
  const auto has = [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  std::string best;
  std::size_t most = 0;
  for (const std::string& name : gpu_names()) {
    const std::vector<std::string> parts = words_of(name);
    // The family is the first word with a digit: h100, but 6000 of rtx-pro-6000.
    const auto family = std::find_if(parts.begin(), parts.end(), [](const std::string& part) {
      return part.find_first_of("0123456789") != std::string::npos;
    });
    if (family == parts.end() || !has(*family)) continue;
    std::size_t shared = 1;
    for (const std::string& part : parts) shared += has(part) ? 1 : 0;
    if (shared > most) {
      most = shared;
      best = name;
    }
  }
  return best;
}

std::string cluster_of_machine(const std::string& value) {
  for (const auto& [machine, cluster] : kMachines)
    if (lower(value) == machine) return cluster;
  return "";
}

std::string gpu_resource(const std::string& gpu) {
  return gpu.starts_with("mi") ? "amd.com/gpu" : "nvidia.com/gpu";
}
}  // namespace stepcast::launch
