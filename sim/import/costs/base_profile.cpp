#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sim/core/result.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/import/costs/kernel_samples.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
std::string bundled_profile_of(const std::string& device) {
  std::string text;
  for (const char c : device)
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  // Driver names: "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA A100-PG509-200" (40
  // GB), "Tesla V100-DGXS-32GB", "AMD Instinct MI300X". Parts without a bundled profile (H100 PCIe,
  // A30, consumer cards) give nothing: another part's costs would look like theirs.
  if (has("pcie")) return "";
  for (const auto& [word, profile] : {std::pair{"gb300", "gb300"},
                                      {"gb200", "gb200"},
                                      {"b300", "b300-sxm"},
                                      {"b200", "b200-sxm"},
                                      {"h200", "h200-sxm5-141g"},
                                      {"l40s", "l40s"},
                                      {"mi355x", "mi355x"},
                                      {"mi325x", "mi325x"},
                                      {"mi300x", "mi300x"},
                                      {"mi250x", "mi250x"}})
    if (has(word)) return profile;
  if (has("h100")) return has("nvl") ? "" : "h100-sxm5-80g";
  if (has("a100")) return has("80gb") ? "a100-sxm4-80g" : "a100-sxm4-40g";
  if (has("v100")) return has("sxm3") ? "v100-sxm3-32g" : "v100-sxm2-32g";
  return "";
}

Profile base_profile(const std::string& name, const char* option) {
  if (std::filesystem::is_regular_file(name)) return read_profile(name).value_or_throw();
  const auto known = preset_names("profiles");
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const std::string near = nearest_name(name, known);
    throw InputError(
        Problem{option, "", "\"" + name + "\" is no profile file and no bundled profile",
                near.empty() ? "bundled are " + joined(known) : "did you mean \"" + near + "\"?"});
  }
  return read_profile(preset_path("profiles", name)).value_or_throw();
}

Profile extended(Profile base, std::span<const KernelSample> samples,
                 std::span<const CollectiveCurve> curves, const std::string& name,
                 const std::string& source) {
  base.name = name;
  base.sources.push_back(source);
  for (const KernelSample& s : samples) {
    const MeasuredKernel kernel{s.key, Seconds(s.median_s()), Seconds(quantile(s.seconds, 0.25)),
                                Seconds(quantile(s.seconds, 0.75))};
    const auto at = std::find_if(base.kernels.measured.begin(), base.kernels.measured.end(),
                                 [&](const MeasuredKernel& k) { return k.key == s.key; });
    if (at == base.kernels.measured.end())
      base.kernels.measured.push_back(kernel);
    else
      *at = kernel;
  }
  std::sort(base.kernels.measured.begin(), base.kernels.measured.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  for (const CollectiveCurve& curve : curves) {
    const auto at =
        std::find_if(base.collectives.curves.begin(), base.collectives.curves.end(),
                     [&](const CollectiveCurve& c) {
                       return c.collective == curve.collective && c.ranks == curve.ranks;
                     });
    if (at == base.collectives.curves.end())
      base.collectives.curves.push_back(curve);
    else
      *at = curve;
  }
  return base;
}

std::string text_of(std::span<const KernelSample> samples, const Profile& base, std::size_t most) {
  const CostModel model(base, base.gpu, {.host = HostMode::none, .is_burst = true});
  std::string out = fmt::format("{:<70} {:>6} {:>11} {:>11} {:>6}\n", "kernel", "calls",
                                "median us", "profile us", "ratio");
  std::vector<double> ratios;
  for (const KernelSample& s : samples) {
    const double expected =
                     std::max(model.cost(s.op).duration.value, base.kernels.kernel_floor_us * 1e-6),
                 found = s.median_s();
    ratios.push_back(found / expected);
    if (most-- > 0)
      out += fmt::format("{:<70} {:>6} {:>11.2f} {:>11.2f} {:>6.2f}\n", s.key, s.seconds.size(),
                         found * 1e6, expected * 1e6, found / expected);
    else
      most = 0;
  }
  if (!ratios.empty())
    out += fmt::format(
        "{} shapes; measured over profile {}: median {:.2f}, 5-95 % {:.2f} to {:.2f}\n",
        samples.size(), base.name, median(ratios), quantile(ratios, 0.05), quantile(ratios, 0.95));
  return out;
}
}  // namespace stepcast
