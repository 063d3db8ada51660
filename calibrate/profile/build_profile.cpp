#include "calibrate/profile/build_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calibrate/profile/compression_factors.hpp"
#include "calibrate/profile/sweep_entries.hpp"
#include "sim/core/counted.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/cost/utilisation_lookup.hpp"

namespace stepcast::calibrate {
namespace {
/// The last of that key: what was measured with the step itself comes after the sweeps.
const Entry* find(const std::vector<Entry>& entries, const std::string& key) {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    if (entry->key == key) return &*entry;
  return nullptr;
}
double value_of(const std::vector<Entry>& entries, const std::string& key, double fallback) {
  const Entry* entry = find(entries, key);
  return entry == nullptr ? fallback : entry->summary.median_s;
}
/// Of an idle time, which joins a sum as a step's ops do.
double mean_of(const std::vector<Entry>& entries, const std::string& key) {
  const Entry* entry = find(entries, key);
  return entry == nullptr ? 0 : entry->summary.trimmed_mean_s;
}
float log2f_of(double x) { return static_cast<float>(std::log2(x)); }

/// Mean |error| when each point is read from the others.
double hold_out_error(const KernelFamily& family) {
  if (family.points.size() < 4) return 0.2;
  double sum = 0;
  for (std::size_t left_out = 0; left_out < family.points.size(); ++left_out) {
    KernelFamily rest = family;
    rest.points.erase(rest.points.begin() + static_cast<std::ptrdiff_t>(left_out));
    Features at{};
    for (std::size_t f = 0; f < family.feature_names.size(); ++f)
      at[f] = std::exp2(static_cast<double>(family.points[left_out].features[f]));
    const double predicted = UtilisationLookup(rest).at(at).value;
    sum += std::abs(static_cast<double>(family.points[left_out].utilisation) / predicted - 1);
  }
  return sum / static_cast<double>(family.points.size());
}

/// Ratios against an amount, one point per octave: the median of what fell there.
FactorCurve factor_curve(std::string name, std::string feature,
                         const std::vector<std::pair<double, double>>& ratios, std::string source) {
  FactorCurve curve{std::move(name), std::move(feature), {}, std::move(source)};
  std::map<int, std::pair<std::vector<double>, std::vector<double>>> octaves;
  for (const auto& [x, ratio] : ratios) {
    auto& [xs, ys] = octaves[static_cast<int>(std::floor(std::log2(x)))];
    xs.push_back(std::log(x));
    ys.push_back(ratio);
  }
  for (const auto& [octave, pair] : octaves)
    curve.points.emplace_back(std::exp(mean(pair.first)), median(pair.second));
  return curve;
}

class Builder {
 public:
  Builder(const std::vector<Entry>& entries, const MeasuredOn& on) : entries_(entries), on_(on) {
    source_ =
        fmt::format("measured on {} ({}), backend {}, {}, {}", on.device.name,
                    on.device.architecture, on.backend, counted(on.ranks, "rank"), on.conditions);
  }

  Profile build() {
    profile_.name = on_.profile_name;
    profile_.description = on_.device.name + ", calibrated by stepcast";
    profile_.sources.push_back(source_);
    for (const auto& [library, version] : on_.device.versions)
      profile_.sources.push_back(library + ": " + version);
    set_device();
    add_gemm();
    add_attention();
    add_bandwidth();
    add_host();
    add_overlap();
    add_measured();
    add_collectives();
    add_compression_factors(entries_, on_.ranks, profile_);
    return std::move(profile_);
  }

 private:
  void missing(const std::string& part) {
    profile_.datasheet_only.push_back(part + ": not measured in this calibration");
  }

  void set_device() {
    GpuSpec& gpu = profile_.gpu;
    gpu.name = on_.profile_name;
    gpu.memory = on_.device.memory;
    gpu.compute_units = on_.device.compute_units;
    for (std::size_t p = 0; p < gpu.peak_flops.size(); ++p)
      gpu.peak_flops[p] = on_.device.peak_flops[p];
    gpu.memory_bandwidth = BytesPerSecond(on_.device.memory_bandwidth);
    double bandwidth = 0, largest = 0;
    // The step's own ops count as well: a calibration of a step alone has no sweeps.
    std::vector<Entry> both = entries_;
    for (const Entry& entry : entries_) {
      if (entry.key.starts_with("gemm/"))
        both.push_back({"sweep/" + entry.key + "/forward", entry.summary});
      if (entry.key.ends_with("/forward")) both.push_back({"sweep/" + entry.key, entry.summary});
    }
    std::map<Precision, double> flops;
    for (const GemmEntry& g : gemms(both)) {
      double& best = flops[g.precision];
      best = std::max(best, gemm_amounts(g.shape, g.precision).flops.value / g.seconds);
    }
    for (const StreamEntry& s : streams(both)) largest = std::max(largest, s.bytes);
    // Of the larger sizes only: smaller ones live in caches.
    for (const StreamEntry& s : streams(both))
      if (s.bytes > largest / 8) bandwidth = std::max(bandwidth, s.bytes / s.seconds);
    for (const auto& [precision, best] : flops) {
      double& peak = gpu.peak_flops[static_cast<std::size_t>(precision)];
      if (peak > 0) continue;
      peak = best;
      profile_.sources.push_back(fmt::format(
          "peak_{}: best product measured, no datasheet figure is known for this device",
          text_of(precision)));
    }
    if (double& fp32 = gpu.peak_flops[static_cast<std::size_t>(Precision::fp32)]; fp32 <= 0) {
      fp32 = 1e9;
      missing("peak_fp32 (1 GFLOP/s stands in)");
    }
    if (gpu.memory_bandwidth.value <= 0) {
      gpu.memory_bandwidth = BytesPerSecond(std::max(bandwidth, 1e9));
      if (bandwidth <= 0) missing("memory bandwidth (1 GB/s stands in)");
    }
  }

  void add_gemm() {
    std::map<Precision, std::vector<GemmEntry>> by_precision;
    for (const GemmEntry& g : gemms(entries_)) by_precision[g.precision].push_back(g);
    std::map<std::string, std::vector<std::pair<double, double>>>
        ratios;  // over the forward product, by direction
    for (const auto& [precision, all] : by_precision) {
      KernelFamily family{.name = fmt::format("gemm/{}", text_of(precision)),
                          .feature_names = {"m", "n", "k"},
                          .source = source_};
      for (const GemmEntry& g : all) {
        if (g.direction != "forward") continue;
        const double roofline =
            roofline_time(gemm_amounts(g.shape, precision), precision, profile_.gpu).value;
        family.points.push_back(
            {{log2f_of(static_cast<double>(g.shape.m)), log2f_of(static_cast<double>(g.shape.n)),
              log2f_of(static_cast<double>(g.shape.k))},
             static_cast<float>(roofline / g.seconds)});
      }
      if (family.points.empty()) continue;
      family.hold_out_error = hold_out_error(family);
      const UtilisationLookup lookup(family);
      for (const GemmEntry& g : all) {
        if (g.direction == "forward") continue;
        const KernelAmounts amounts = gemm_amounts(g.shape, precision);
        const double forward =
            roofline_time(amounts, precision, profile_.gpu).value /
            lookup
                .at({static_cast<double>(g.shape.m), static_cast<double>(g.shape.n),
                     static_cast<double>(g.shape.k)})
                .value;
        ratios[g.direction].emplace_back(amounts.flops.value, g.seconds / forward);
      }
      profile_.kernels.families.push_back(std::move(family));
    }
    if (profile_.kernels.families.empty()) return missing("matrix products");
    for (const auto& [direction, all] : ratios)
      profile_.kernels.factors.push_back(factor_curve("gemm_" + direction, "flops", all, source_));
  }

  void add_attention() {
    const auto all = attentions(entries_);
    std::map<std::pair<Precision, std::int64_t>, KernelFamily> families;
    std::vector<std::pair<double, double>> ratios;
    for (const AttentionEntry& a : all) {
      if (a.shape.is_backward) {
        for (const AttentionEntry& forward : all) {
          AttentionShape same = forward.shape;
          same.is_backward = true;
          if (!forward.shape.is_backward && forward.precision == a.precision &&
              same.head_dim_qk == a.shape.head_dim_qk && same.key_length == a.shape.key_length &&
              same.heads == a.shape.heads && same.kv_heads == a.shape.kv_heads &&
              same.batch == a.shape.batch)
            ratios.emplace_back(static_cast<double>(a.shape.key_length),
                                a.seconds / forward.seconds);
        }
        continue;
      }
      KernelFamily& family = families[{a.precision, a.shape.head_dim_qk}];
      family.name =
          fmt::format("attention_forward/{}/{}", text_of(a.precision), a.shape.head_dim_qk);
      family.feature_names = {"key_length", "batch_heads", "heads_per_kv_head"};
      const double roofline =
          roofline_time(attention_amounts(a.shape, a.precision), a.precision, profile_.gpu).value;
      family.points.push_back(
          {{log2f_of(static_cast<double>(a.shape.key_length)),
            log2f_of(static_cast<double>(a.shape.batch * a.shape.heads)),
            log2f_of(static_cast<double>(a.shape.heads) / static_cast<double>(a.shape.kv_heads))},
           static_cast<float>(roofline / a.seconds)});
    }
    if (families.empty()) missing("attention");
    for (auto& [key, family] : families) {
      family.source = source_;
      family.hold_out_error = hold_out_error(family);
      profile_.kernels.families.push_back(std::move(family));
    }
    if (!ratios.empty())
      profile_.kernels.factors.push_back(
          factor_curve("attention_backward_over_forward/causal", "key_length", ratios, source_));
  }

  /// time = latency + bytes / rate, a rate for what caches hold and one for memory.
  void add_bandwidth() {
    const double latency = value_of(entries_, "launch/kernel", 0);
    std::map<std::string, std::vector<StreamEntry>> kinds;
    for (const StreamEntry& s : streams(entries_)) kinds[s.kind].push_back(s);
    if (kinds.empty()) missing("bandwidth-bound kernels");
    for (auto& [kind, all] : kinds) {
      std::vector<StreamEntry> forward, backward;
      for (const StreamEntry& s : all) (s.direction == "forward" ? forward : backward).push_back(s);
      const auto by_size = [](const StreamEntry& a, const StreamEntry& b) {
        return a.bytes < b.bytes;
      };
      std::sort(forward.begin(), forward.end(), by_size);
      std::sort(backward.begin(), backward.end(), by_size);
      if (forward.empty()) continue;
      const auto rate = [latency](const StreamEntry& s) {
        return s.bytes / std::max(1e-9, s.seconds - latency);
      };
      BandwidthFit fit{.kind = kind, .latency_us = latency * 1e6, .source = source_};
      const double memory = rate(forward.back());
      double cache = memory;
      for (const StreamEntry& s : forward)
        if (s.seconds > 3 * latency)
          cache = std::max(cache, rate(s));  // shorter ones are latency, their rate is noise
      fit.dram_GBps = memory * 1e-9;
      if (cache > 1.1 * memory) {
        fit.l2_GBps = cache * 1e-9;
        for (const StreamEntry& s : forward)
          if (rate(s) > std::sqrt(cache * memory)) fit.l2_bytes = s.bytes;
      }
      if (!backward.empty()) {
        std::vector<double> ratios;
        for (const StreamEntry& s : backward) {
          const double here = s.bytes <= fit.l2_bytes ? fit.l2_GBps : fit.dram_GBps;
          ratios.push_back((s.seconds - latency) / (s.bytes / (here * 1e9)));
        }
        fit.backward_factor = std::clamp(median(ratios), 0.01, 100.0);
      }
      profile_.kernels.bandwidth.push_back(fit);
    }
  }

  void add_host() {
    const double host_us = value_of(entries_, "launch/host", 0) * 1e6;
    profile_.kernels.host["stepcast"] = {
        .eager_us = host_us,
        .fused_us = host_us,
        .graph_us = host_us,
        .backward_scale = 1,
        .source = find(entries_, "launch/host") ? source_ : "not measured: 0"};
    profile_.kernels.kernel_floor_us = value_of(entries_, "launch/kernel", 0) * 1e6;
    profile_.kernels.launch_gap_us = mean_of(entries_, "step/gap") * 1e6;
    for (const auto& [key, parameter] : {std::pair("step/edges", "step_edges_us"),
                                         std::pair("launch/hand_over", "stream_hand_over_us")})
      if (find(entries_, key) != nullptr)
        profile_.kernels.parameters[parameter] = mean_of(entries_, key) * 1e6;
    // Measured in loops of the same kind as a step's, so nothing separates burst from sustained.
    profile_.kernels.sustained_factor_gemm = profile_.kernels.sustained_factor_attention = 1;
  }
  void add_overlap() {
    profile_.kernels.overlap_slowdown_compute = value_of(entries_, "overlap/compute", 1);
    profile_.kernels.overlap_slowdown_comm = value_of(entries_, "overlap/comm", 1);
    if (const Entry* kernels = find(entries_, "overlap/kernels"); kernels != nullptr)
      profile_.kernels.parameters["overlap_slowdown_kernels"] = kernels->summary.median_s;
    if (on_.ranks > 1 && find(entries_, "overlap/compute") == nullptr)
      missing("interference of collectives and compute");
  }

  /// Ops of the measured step, each with the gap behind it, as OpCost::duration counts. They will
  /// be added up, so it is their mean that counts.
  void add_measured() {
    const double gap = mean_of(entries_, "step/gap");
    for (const Entry& entry : entries_) {
      const std::string& key = entry.key;
      const std::size_t slash = key.find('/');
      const std::string kind = key.substr(0, slash);
      if (kind == "sweep" || kind == "step" || kind == "collective" || kind == "launch" ||
          kind == "overlap" || kind == "disk" || kind == "transfer" || kind == "compress")
        continue;
      const Summary& s = entry.summary;
      profile_.kernels.measured.push_back(
          {key, Seconds(s.trimmed_mean_s + gap), Seconds(s.q25_s + gap), Seconds(s.q75_s + gap)});
    }
  }

  void add_collectives() {
    std::map<std::pair<int, int>, CollectiveCurve> curves;
    std::map<std::pair<int, int>, std::map<Bytes, Seconds>> points;
    for (const Entry& entry : entries_) {
      char name[32] = "";
      int ranks = 0;
      long bytes = 0;
      if (std::sscanf(entry.key.c_str(), "collective/%31[^/]/%d/%ld", name, &ranks, &bytes) != 3)
        continue;
      const auto collective = enum_from_text<Collective>(name);
      if (!collective) continue;
      CollectiveCurve& curve = curves[{static_cast<int>(*collective), ranks}];
      curve.collective = *collective;
      curve.ranks = ranks;
      curve.source = source_;
      points[{static_cast<int>(*collective), ranks}][Bytes(bytes)] =
          Seconds(entry.summary.median_s);
    }
    for (auto& [key, curve] : curves) {
      curve.points.assign(points[key].begin(), points[key].end());
      profile_.collectives.curves.push_back(std::move(curve));
    }
    if (curves.empty()) missing("collectives");
    missing("the network between nodes");
    for (const char* part : {"disk/write", "disk/fsync", "disk/read"})
      if (const Entry* entry = find(entries_, part); entry != nullptr) {
        std::string name = part;
        std::replace(name.begin(), name.end(), '/', '_');
        profile_.kernels.parameters[name + "_s_per_MiB"] = entry->summary.median_s;
      }
    if (const Entry* traced = find(entries_, "step/traced"); traced != nullptr)
      profile_.kernels.parameters["tracing_overhead"] =
          traced->summary.median_s / value_of(entries_, "step/measured", traced->summary.median_s) -
          1;
  }

  const std::vector<Entry>& entries_;
  const MeasuredOn& on_;
  std::string source_;
  Profile profile_;
};
}  // namespace

Profile build_profile(const std::vector<Entry>& entries, const MeasuredOn& on) {
  return Builder(entries, on).build();
}
}  // namespace stepcast::calibrate
