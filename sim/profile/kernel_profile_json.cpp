#include <cmath>

#include "sim/io/json.hpp"
#include "sim/profile/kernel_profile.hpp"

/// The kernel half of a profile as JSON. Shapes stand in natural units, utilisation in percent,
/// times in microseconds; points are flat arrays (one shape after the other), which keeps a profile
/// of ten thousand nodes near 100 kB.
namespace stepcast {
namespace {

/// Utilisation is a fraction; in the file it is percent, so that 0.034 of a latency-bound shape
/// reads as 3.4.
constexpr double kPercent = 100;

KernelFamily read_family(ObjectReader reader) {
  KernelFamily family;
  family.name = reader.text("name");
  family.feature_names = reader.texts("features");
  const std::size_t features = family.feature_names.size();
  if (features == 0 || features > 4) {
    reader.problem("features", "names " + std::to_string(features) + " features, expected 1 to 4");
    return family;
  }
  family.feature_weights = reader.numbers("feature_weights", {.min = 1e-3, .max = 1e3});
  if (!family.feature_weights.empty() && family.feature_weights.size() != features)
    reader.problem("feature_weights", "has " + std::to_string(family.feature_weights.size()) +
                                          " numbers, expected one per feature (" +
                                          std::to_string(features) + ")");
  family.hold_out_error = reader.number("hold_out_error", {.fallback = 0.2, .max = 10});
  family.source = reader.text("source");
  if (auto grid = reader.object("grid")) {
    family.grid.emplace();
    std::size_t nodes = 1;
    for (const std::string& name : family.feature_names) {
      std::vector<double> axis = grid->numbers(name, {.min = 1e-9});
      bool rises = axis.size() >= 2;
      for (std::size_t i = 1; i < axis.size(); ++i) rises = rises && axis[i] > axis[i - 1];
      if (!rises) grid->problem(name, "expected at least two strictly rising nodes");
      nodes *= axis.size();
      family.grid->axes.push_back(std::move(axis));
    }
    for (const double u : grid->numbers("utilisation_percent", {.min = 1e-9, .max = 1e4}))
      family.grid->utilisation.push_back(static_cast<float>(u / kPercent));
    if (family.grid->utilisation.size() != nodes)
      grid->problem("utilisation_percent",
                    "has " + std::to_string(family.grid->utilisation.size()) +
                        " numbers, the axes span " + std::to_string(nodes) + " nodes");
    grid->done();
  }
  const std::vector<double> flat = reader.numbers("points", {.min = 1e-9});
  if (flat.size() % (features + 1) != 0)
    reader.problem("points", "has " + std::to_string(flat.size()) +
                                 " numbers, expected a multiple of " +
                                 std::to_string(features + 1) +
                                 " (the features, then utilisation in percent)");
  for (std::size_t at = 0; at + features < flat.size(); at += features + 1) {
    UtilisationPoint point;
    for (std::size_t f = 0; f < features; ++f)
      point.features[f] = static_cast<float>(std::log2(flat[at + f]));
    point.utilisation = static_cast<float>(flat[at + features] / kPercent);
    family.points.push_back(point);
  }
  if (!family.grid && family.points.empty()) reader.problem("", "a family needs a grid or points");
  reader.done();
  return family;
}

BandwidthFit read_bandwidth(ObjectReader reader) {
  BandwidthFit fit;
  fit.kind = reader.text("kind");
  fit.latency_us = reader.number("latency_us", {.max = 1e4});
  fit.dram_GBps = reader.number("dram_GBps", {.min = 1e-3, .max = 1e6});
  fit.l2_GBps = reader.number("l2_GBps", {.fallback = 0, .max = 1e6});
  fit.l2_bytes = reader.number("l2_bytes", {.fallback = 0});
  fit.half_rate_bytes = reader.number("half_rate_bytes", {.fallback = 0});
  fit.backward_factor = reader.number("backward_factor", {.fallback = 1, .min = 0.01, .max = 100});
  fit.source = reader.text("source");
  reader.done();
  return fit;
}

FactorCurve read_factor(ObjectReader reader) {
  FactorCurve curve;
  curve.name = reader.text("name");
  curve.feature = reader.text("feature");
  curve.source = reader.text("source");
  const std::vector<double> flat = reader.numbers("points", {.min = 1e-9});
  if (flat.size() < 2 || flat.size() % 2 != 0)
    reader.problem("points", "expected pairs of (" + curve.feature + ", factor)");
  for (std::size_t at = 0; at + 1 < flat.size(); at += 2) {
    if (!curve.points.empty() && flat[at] <= curve.points.back().first)
      reader.problem("points", curve.feature + " has to rise from pair to pair");
    curve.points.emplace_back(flat[at], flat[at + 1]);
  }
  reader.done();
  return curve;
}

HostFit read_host(ObjectReader reader) {
  HostFit fit;
  fit.eager_us = reader.number("eager_us", {.max = 1e5});
  fit.fused_us = reader.number("fused_us", {.max = 1e5});
  fit.graph_us = reader.number("graph_us", {.max = 1e5});
  fit.backward_scale = reader.number("backward_scale", {.fallback = 1, .max = 100});
  fit.host_sigma = reader.number("host_sigma", {.fallback = fit.host_sigma, .max = 10});
  fit.step_sigma = reader.number("step_sigma", {.fallback = fit.step_sigma, .max = 10});
  fit.source = reader.text("source");
  reader.done();
  return fit;
}

MeasuredKernel read_measured(ObjectReader reader) {
  MeasuredKernel kernel;
  kernel.key = reader.text("key");
  const double median = reader.number("median_us", {.min = 1e-6, .max = 1e12});
  kernel.median = Seconds(median * 1e-6);
  kernel.q25 = Seconds(reader.number("q25_us", {.fallback = median, .max = 1e12}) * 1e-6);
  kernel.q75 = Seconds(reader.number("q75_us", {.fallback = median, .max = 1e12}) * 1e-6);
  reader.done();
  return kernel;
}

/// Fitted values carry no more digits than the fit deserves; fewer digits also keep the file small
/// and diffs quiet.
double rounded(double x, int digits) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double scale =
      std::pow(10.0, digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(x)))));
  return std::round(x * scale) / scale;
}
constexpr int kUtilisationDigits = 3, kFitDigits = 4;

Json json_of_family(const KernelFamily& family) {
  Json json = {{"name", family.name}, {"features", family.feature_names}};
  if (!family.feature_weights.empty()) json["feature_weights"] = family.feature_weights;
  json["hold_out_error"] = rounded(family.hold_out_error, kUtilisationDigits);
  json["source"] = family.source;
  if (family.grid) {
    Json& grid = json["grid"];
    for (std::size_t f = 0; f < family.feature_names.size(); ++f)
      grid[family.feature_names[f]] = family.grid->axes[f];
    Json& values = grid["utilisation_percent"] = Json::array();
    for (const float u : family.grid->utilisation)
      values.push_back(rounded(kPercent * static_cast<double>(u), kUtilisationDigits));
  }
  if (!family.points.empty()) {
    Json& flat = json["points"] = Json::array();
    for (const UtilisationPoint& point : family.points) {
      for (std::size_t f = 0; f < family.feature_names.size(); ++f)
        flat.push_back(rounded(std::exp2(static_cast<double>(point.features[f])), kFitDigits));
      flat.push_back(
          rounded(kPercent * static_cast<double>(point.utilisation), kUtilisationDigits));
    }
  }
  return json;
}
}  // namespace

KernelProfile read_kernel_profile(ObjectReader reader) {
  KernelProfile profile;
  for (ObjectReader& item : reader.objects("families"))
    profile.families.push_back(read_family(item));
  for (ObjectReader& item : reader.objects("bandwidth"))
    profile.bandwidth.push_back(read_bandwidth(item));
  for (ObjectReader& item : reader.objects("factors")) profile.factors.push_back(read_factor(item));
  for (ObjectReader& item : reader.objects("measured"))
    profile.measured.push_back(read_measured(item));
  if (auto host = reader.object("host"))
    for (const std::string& name : host->keys())
      profile.host.emplace(name, read_host(*host->object(name)));
  profile.sustained_factor_gemm =
      reader.number("sustained_factor_gemm", {.fallback = 1, .min = 0.1, .max = 10});
  profile.sustained_factor_attention =
      reader.number("sustained_factor_attention", {.fallback = 1, .min = 0.1, .max = 10});
  profile.kernel_floor_us =
      reader.number("kernel_floor_us", {.fallback = profile.kernel_floor_us, .max = 1e4});
  profile.launch_gap_us =
      reader.number("launch_gap_us", {.fallback = profile.launch_gap_us, .max = 1e4});
  profile.overlap_slowdown_compute =
      reader.number("overlap_slowdown_compute",
                    {.fallback = profile.overlap_slowdown_compute, .min = 1, .max = 20});
  profile.overlap_slowdown_comm = reader.number(
      "overlap_slowdown_comm", {.fallback = profile.overlap_slowdown_comm, .min = 1, .max = 20});
  if (auto parameters = reader.object("parameters"))
    for (const std::string& name : parameters->keys())
      profile.parameters[name] = parameters->number(name, {.min = -1e18});
  reader.done();
  return profile;
}

Json json_of(const KernelProfile& profile) {
  Json json = {
      {"sustained_factor_gemm", rounded(profile.sustained_factor_gemm, kFitDigits)},
      {"sustained_factor_attention", rounded(profile.sustained_factor_attention, kFitDigits)},
      {"kernel_floor_us", rounded(profile.kernel_floor_us, kFitDigits)},
      {"launch_gap_us", rounded(profile.launch_gap_us, kFitDigits)},
      {"overlap_slowdown_compute", rounded(profile.overlap_slowdown_compute, kFitDigits)},
      {"overlap_slowdown_comm", rounded(profile.overlap_slowdown_comm, kFitDigits)}};
  Json& host = json["host"] = Json::object();
  for (const auto& [name, fit] : profile.host)
    host[name] = {{"eager_us", fit.eager_us},     {"fused_us", fit.fused_us},
                  {"graph_us", fit.graph_us},     {"backward_scale", fit.backward_scale},
                  {"host_sigma", fit.host_sigma}, {"step_sigma", fit.step_sigma},
                  {"source", fit.source}};
  if (!profile.parameters.empty()) json["parameters"] = profile.parameters;
  Json& bandwidth = json["bandwidth"] = Json::array();
  for (const BandwidthFit& fit : profile.bandwidth)
    bandwidth.push_back({{"kind", fit.kind},
                         {"latency_us", rounded(fit.latency_us, kFitDigits)},
                         {"dram_GBps", rounded(fit.dram_GBps, kFitDigits)},
                         {"l2_GBps", rounded(fit.l2_GBps, kFitDigits)},
                         {"l2_bytes", fit.l2_bytes},
                         {"half_rate_bytes", rounded(fit.half_rate_bytes, kFitDigits)},
                         {"backward_factor", rounded(fit.backward_factor, kFitDigits)},
                         {"source", fit.source}});
  Json& factors = json["factors"] = Json::array();
  for (const FactorCurve& curve : profile.factors) {
    Json flat = Json::array();
    for (const auto& [x, factor] : curve.points) {
      flat.push_back(rounded(x, kFitDigits));
      flat.push_back(rounded(factor, kFitDigits));
    }
    factors.push_back({{"name", curve.name},
                       {"feature", curve.feature},
                       {"source", curve.source},
                       {"points", std::move(flat)}});
  }
  Json& measured = json["measured"] = Json::array();
  for (const MeasuredKernel& kernel : profile.measured)
    measured.push_back({{"key", kernel.key},
                        {"median_us", kernel.median.value * 1e6},
                        {"q25_us", kernel.q25.value * 1e6},
                        {"q75_us", kernel.q75.value * 1e6}});
  Json& families = json["families"] = Json::array();
  for (const KernelFamily& family : profile.families) families.push_back(json_of_family(family));
  return json;
}
}  // namespace stepcast
