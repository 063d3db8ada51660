#include "calibrate/tables/collective_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/fit/size_curve_fit.hpp"
#include "calibrate/tables/fabric_fits.hpp"
#include "sim/cluster/cluster_spec.hpp"
#include "sim/collective/single_node_curve.hpp"
#include "sim/core/units.hpp"

namespace stepcast {
namespace {
/// A curve that starts above this says nothing of latency.
constexpr double kSmallMessage = 65536;

CollectiveCurve curve_of(Collective collective, int ranks,
                         const std::vector<CollectiveSample>& samples) {
  std::vector<SizeSample> points;
  std::set<std::string> sources;
  for (const CollectiveSample& sample : samples) {
    points.emplace_back(sample.bytes, sample.seconds);
    sources.insert(sample.source);
  }
  CollectiveCurve curve{collective, ranks, {}, joined({sources.begin(), sources.end()}, "; ")};
  for (const auto& [size, time] : fit_size_curve(points))
    curve.points.emplace_back(Bytes(std::llround(size)), Seconds(time));
  return curve;
}

bool starts_small(const CollectiveCurve& curve) {
  return static_cast<double>(curve.points.front().first.value) <= kSmallMessage;
}

/// Prepends knots below the first measured size of a curve: what the neighbouring group sizes
/// predict, times the ratio found at the first measured size, fading to 1 at small messages.
void extend_down(CollectiveCurve& curve, const CollectiveProfile& whole, const NodeSpec& node) {
  const auto [first, first_time] = curve.points.front();
  const double first_size = static_cast<double>(first.value);
  const auto predicted = [&](double size) {
    return single_node_time(whole, node, curve.collective, Bytes(std::llround(size)), curve.ranks)
        .total.value;
  };
  const double log_ratio = std::log(first_time.value / predicted(first_size));
  std::vector<std::pair<Bytes, Seconds>> below;
  for (double size = 1024; size < first_size / 1.5; size *= 2) {
    const double fade =
        std::max(0.0, std::log(size / kSmallMessage) / std::log(first_size / kSmallMessage));
    below.emplace_back(Bytes(std::llround(size)),
                       Seconds(predicted(size) * std::exp(log_ratio * fade)));
  }
  curve.points.insert(curve.points.begin(), below.begin(), below.end());
  curve.source += fmt::format("; below {:.3g} MiB from other group sizes", first_size / 1048576);
}

const CollectiveCurve* find(const std::vector<CollectiveCurve>& curves, Collective collective,
                            int ranks) {
  for (const CollectiveCurve& curve : curves)
    if (curve.collective == collective && curve.ranks == ranks) return &curve;
  return nullptr;
}

/// Latency of each further rank, from the smallest and the largest group with small messages.
void add_step_latencies(CollectiveProfile& profile) {
  for (const auto& [collective, name] : EnumText<Collective>::table) {
    const CollectiveCurve* few = nullptr;
    const CollectiveCurve* many = nullptr;
    for (const CollectiveCurve& curve : profile.curves) {
      if (curve.collective != collective || !starts_small(curve)) continue;
      if (!few || curve.ranks < few->ranks) few = &curve;
      if (!many || curve.ranks > many->ranks) many = &curve;
    }
    if (!few || few == many) continue;
    const double step = (many->points.front().second - few->points.front().second).value /
                        (many->ranks - few->ranks);
    profile.parameters[fmt::format("step_latency_{}_us", name)] = std::max(0.0, step * 1e6);
  }
}
}  // namespace

CollectiveProfile fit_one_node_collectives(const std::string& gpu, const std::string& data_root,
                                           const SampleFilter& filter) {
  CollectiveProfile profile;
  const CollectiveSources* sources = sources_of(gpu);
  if (sources == nullptr) return profile;
  std::map<std::pair<Collective, int>, std::vector<CollectiveSample>> groups;
  for (const CollectiveSample& sample : collective_samples(*sources, data_root, filter))
    groups[{sample.collective, sample.ranks}].push_back(sample);
  for (const auto& [key, samples] : groups)
    profile.curves.push_back(curve_of(key.first, key.second, samples));

  if (!sources->donor.empty())
    for (CollectiveCurve curve : fit_one_node_collectives(sources->donor, data_root, filter).curves)
      if (find(profile.curves, curve.collective, curve.ranks) == nullptr) {
        curve.source += "; measured on " + sources->donor;
        profile.curves.push_back(std::move(curve));
      }
  if (sources->in_switch_min_ranks > 0)
    profile.parameters["in_switch_reduction_min_ranks"] = sources->in_switch_min_ranks;
  add_step_latencies(profile);
  if (!profile.curves.empty()) profile.parameters["curves_gpu_link_GBps"] = sources->gpu_link_GBps;

  NodeSpec node;
  node.gpu_link = BytesPerSecond(sources->gpu_link_GBps * 1e9);
  node.in_switch_reduction = sources->in_switch_min_ranks > 0;
  CollectiveProfile whole = profile;
  std::erase_if(whole.curves, [](const CollectiveCurve& curve) { return !starts_small(curve); });
  for (CollectiveCurve& curve : profile.curves) {
    const bool has_other =
        std::any_of(whole.curves.begin(), whole.curves.end(),
                    [&](const CollectiveCurve& c) { return c.collective == curve.collective; });
    if (!starts_small(curve) && has_other) extend_down(curve, whole, node);
  }
  std::sort(profile.curves.begin(), profile.curves.end(),
            [](const CollectiveCurve& a, const CollectiveCurve& b) {
              return std::pair(a.collective, a.ranks) < std::pair(b.collective, b.ranks);
            });
  return profile;
}

CollectiveProfile fit_collectives(const std::string& gpu, const std::string& data_root) {
  CollectiveProfile profile = fit_one_node_collectives(gpu, data_root, nullptr);
  // The same for every GPU, and the longest part of a profile's fit: once per folder.
  static std::map<std::string, std::vector<FabricFit>> fitted;
  const auto [at, is_new] = fitted.try_emplace(data_root);
  if (is_new) at->second = fit_fabrics(data_root);
  profile.fabrics = at->second;
  return profile;
}
}  // namespace stepcast
