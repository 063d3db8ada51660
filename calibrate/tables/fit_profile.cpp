#include "calibrate/tables/fit_profile.hpp"

#include <algorithm>
#include <optional>

#include "calibrate/tables/factor_fits.hpp"
#include "calibrate/tables/kernel_fits.hpp"
#include "calibrate/tables/published_constants.hpp"
#include "calibrate/tables/stream_fits.hpp"

namespace stepcast {
namespace {

/// A table found for the target: in its own folder or in a relative's.
struct Found {
  CsvTable table;
  GpuSpec gpu;         // that the rows were measured on
  std::string source;  // origin, and whose it is when borrowed
};

std::string generation_of(const std::string& folder) {
  if (folder.starts_with("h100") || folder.starts_with("h200")) return "hopper";
  if (folder.starts_with("b200") || folder.starts_with("gb")) return "blackwell";
  return folder.substr(0, 4);  // a100, v100, l40s, mi30 ...
}

/// Sustained over burst time where neither a model nor a long loop was measured: between H100
/// (1.09) and B200 (1.3).
constexpr double kAssumedSustained = 1.15;

class Fitter {
 public:
  Fitter(TableSet& tables, const ProfileTarget& target) : tables_(tables), target_(target) {}

  Profile fit() {
    profile_.name = target_.name;
    profile_.description = target_.description;
    profile_.gpu = catalogued_gpu(target_.name);
    set_published_constants(profile_.kernels);
    set_attention_generations(profile_.kernels, generation_of(target_.name));
    profile_.kernels.host = published_host_fits();
    fit_gemm_families();
    fit_attention();
    fit_conv();
    profile_.kernels.bandwidth =
        fit_streams(tables_, target_, profile_.gpu, profile_.kernels.kernel_floor_us);
    fit_factors();
    list_datasheet_only();
    profile_.sources = tables_.take_citations();
    return std::move(profile_);
  }

 private:
  /// `is_same_generation`: only from parts that run the same kernels (Hopper's attention is no
  /// guide to Ampere's).
  std::optional<Found> find(const std::string& file, bool is_same_generation = false) {
    for (const std::string& folder : target_.folders) {
      if (is_same_generation && generation_of(folder) != generation_of(target_.name)) continue;
      if (!tables_.has_shippable(folder, file)) continue;
      std::string source = tables_.origin(folder, file);
      if (gpu_of_folder(folder) != target_.name) source += "; measured on " + folder;
      return Found{tables_.kernels(folder, file), catalogued_gpu(gpu_of_folder(folder)),
                   std::move(source)};
    }
    return std::nullopt;
  }
  KernelProfile& kernels() { return profile_.kernels; }
  void add(std::vector<KernelFamily> families) {
    for (KernelFamily& family : families)
      if (kernels().family(family.name) == nullptr) kernels().families.push_back(std::move(family));
  }
  void add(FactorCurve curve) {
    if (!curve.points.empty() && kernels().factor(curve.name) == nullptr)
      kernels().factors.push_back(std::move(curve));
  }
  bool is_volta() const { return target_.name.starts_with("v100"); }

  void fit_gemm_families() {
    if (const auto own = find("gemm.csv.gz"); own && !is_volta()) {
      for (const auto& [dtype, precision] :
           {std::pair{"bfloat16", Precision::bf16}, std::pair{"fp8", Precision::fp8}}) {
        const auto samples = gemm_samples(own->table, dtype, precision, own->gpu);
        if (!samples.empty() && profile_.gpu.peak(precision).value > 0)
          add({fit_gemm("gemm/" + std::string(text_of(precision)), samples, own->source)});
      }
      double floor_us = 1e9;
      for (std::size_t row = 0; row < own->table.rows(); ++row)
        floor_us = std::min(floor_us, own->table.number(row, "time_us").value_or(1e9));
      kernels().kernel_floor_us = floor_us;
    }
    if (is_volta())
      if (const auto own = find("gemm.csv")) add(fit_v100_gemm(own->table, own->gpu, own->source));
    if (const auto tuned = find("gemm_tuned.csv"))
      add(fit_tuned_gemm(tuned->table, tuned->gpu, tuned->source));
    if (const auto fp32 = find("gemm_fp32.csv.gz"))
      add({fit_fp32_gemm(fp32->table, fp32->gpu, fp32->source)});
  }

  void fit_attention() {
    if (is_volta()) return;  // no flash kernel of the tables runs on it
    for (const char* file : {"attention_forward.csv.gz", "attention_full_mask_forward.csv"})
      if (const auto found = find(file, true))
        add(fit_attention_families(found->table, found->gpu, found->source));
  }

  void fit_conv() {
    if (is_volta())
      if (const auto own = find("conv_forward_backward.csv"))
        add(fit_v100_conv(own->table, own->gpu, own->source));
    if (const auto trace = find("resnet50_batch128_operators_fp32.csv"); trace && !is_volta())
      add(fit_resnet_conv(trace->table, trace->gpu, trace->source));
    if (const auto fp32 = find("conv_forward_fp32.csv.gz"))
      add({fit_conv_forward_fp32(fp32->table, fp32->gpu, fp32->source)});
  }

  /// The burst model of the GPU that a table was measured on is this profile's utilisation on that
  /// GPU's datasheet.
  CostModel burst_on(const GpuSpec& gpu) const {
    CostOptions options;
    options.is_burst = true;
    options.host = HostMode::none;
    return CostModel(profile_, gpu, options);
  }

  /// Products of a known board after 10,000 warm-ups. The trace of a model (Vidur) whose board is
  /// inferred comes second.
  void fit_settled_factors() {
    const std::string folder = "(A100,H100,H200)", file = "gemm_sustained_azure.csv";
    if (!tables_.has_shippable(folder, file)) return;
    const std::string source = tables_.origin(folder, file);
    const bool is_ampere = target_.name.starts_with("a100");
    const std::string gpu = is_ampere ? "a100-sxm4-80g" : target_.name;
    if (!is_ampere && generation_of(gpu) != "hopper") return;
    const CsvTable table = tables_.kernels(folder, file);
    const CostModel burst = burst_on(catalogued_gpu(gpu));
    if (is_ampere)
      add(fit_sustained_settled(table, gpu, "fp16", Precision::fp16, burst, "sustained/gemm",
                                source));
    else
      add(fit_sustained_settled(table, gpu, "fp8", Precision::fp8, burst, "sustained/gemm/fp8",
                                source));
  }

  /// Blackwell's 8-bit products were not measured settled: Hopper's gain of the trainers' library
  /// over the table's, 0.70 of the wide curve at the sizes of a layer, is assumed.
  void assume_narrow_factor() {
    constexpr double kHopperNarrowOverWide = 0.703;  // H100: 0.725 / 1.032 at 2e12 flop
    const FactorCurve* wide = kernels().factor("sustained/gemm");
    if (generation_of(target_.name) != "blackwell" || wide == nullptr) return;
    FactorCurve narrow{"sustained/gemm/fp8", "flops", wide->points,
                       wide->source + "; times 0.703, the ratio of H100's curves (assumed)"};
    for (auto& [flops, factor] : narrow.points) factor *= kHopperNarrowOverWide;
    add(std::move(narrow));
  }

  void fit_factors() {
    // What no loop or model was measured for: a tuner keeps the best of a short loop, DeepBench
    // averages long ones.
    kernels().sustained_factor_gemm = is_volta() ? 1.0 : kAssumedSustained;
    const auto layouts = find("gemm_training_layouts.csv", true);
    const auto layers = find("gemm_llm_layers.csv.gz", true);
    fit_settled_factors();
    if (layers && !is_volta())
      add(fit_sustained_from_model(layers->table, burst_on(layers->gpu), layers->source));
    if (layouts) {
      const CostModel burst = burst_on(layouts->gpu);
      const FactorCurve loop = fit_sustained_from_loop(layouts->table, burst, layouts->source);
      add(loop);
      add(fit_layout_factor(layouts->table, burst, "NN", "gemm_backward_data", layouts->source));
      add(fit_layout_factor(layouts->table, burst, "NT", "gemm_backward_weight", layouts->source));
      if (const auto grouped = find("grouped_gemm_training.csv", true))
        for (const auto& [stage, name] : {std::pair{"fwd", "grouped_gemm/forward"},
                                          std::pair{"bwd_grad_act", "grouped_gemm/backward_data"},
                                          std::pair{"bwd_grad_w", "grouped_gemm/backward_weight"}})
          add(fit_grouped_factor(grouped->table, burst, loop, stage, name, grouped->source));
    }
    assume_narrow_factor();
    if (const FactorCurve* curve = kernels().factor("sustained/gemm"))
      kernels().sustained_factor_gemm = curve->points.back().second;
    if (const auto passes = find("attention_forward_backward.csv", true)) {
      for (const char* mask : {"causal", "full"}) {
        FactorCurve curve = fit_attention_backward(passes->table, mask, passes->source);
        if (generation_of(target_.name) == "hopper" && curve.name.ends_with("causal"))
          prepend_short_sequences(curve);
        add(std::move(curve));
      }
      if (passes->table.has_column("qkv_contiguous"))
        kernels().sustained_factor_attention =
            fit_attention_sustained(passes->table, burst_on(passes->gpu), 32);
    }
    if (const auto batched = find("gemm_batched_xla.csv", true))
      add(fit_batched_factor(batched->table, burst_on(batched->gpu), batched->source));
    inherit_factors();
  }

  /// Ratios between layouts and passes carry over to parts that nobody measured them on better than
  /// no ratio at all.
  void inherit_factors() {
    constexpr const char* kDonor = "a100-sxm4-80g";
    if (target_.name == kDonor || generation_of(target_.name) == "blackwell") return;
    for (const ProfileTarget& target : profile_targets()) {
      if (target.name != kDonor) continue;
      for (FactorCurve curve : Fitter(tables_, target).fit().kernels.factors) {
        if (curve.name.starts_with("sustained/")) continue;
        curve.source += "; measured on A100, assumed here";
        add(std::move(curve));
      }
    }
  }

  void list_datasheet_only() {
    const auto note = [&](bool is_missing, const char* what) {
      if (is_missing) profile_.datasheet_only.emplace_back(what);
    };
    const auto has_family = [&](const std::string& kind) {
      return std::any_of(kernels().families.begin(), kernels().families.end(),
                         [&](const KernelFamily& f) { return f.name.starts_with(kind); });
    };
    note(!has_family("attention_forward/"), "attention forward: 0.55 of the datasheet roofline");
    note(kernels().factor("attention_backward_over_forward/causal") == nullptr,
         "attention backward: 3.1 times the forward");
    note(!has_family("conv_"), "convolution: 0.65 of the GEMM of its implicit shape");
    note(kernels().bandwidth_of("elementwise") == nullptr,
         "bandwidth-bound kernels: 0.75 of the datasheet bandwidth");
    note(kernels().factor("sustained/gemm") == nullptr,
         "sustained factor of GEMM: an assumption, not a measurement");
  }

  TableSet& tables_;
  const ProfileTarget& target_;
  Profile profile_;
};
}  // namespace

Profile fit_profile(TableSet& tables, const ProfileTarget& target) {
  return Fitter(tables, target).fit();
}
}  // namespace stepcast
