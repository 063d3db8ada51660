#include "sim/profile/collective_profile.hpp"

#include <cmath>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {
/// "points_B_us": [[1024, 10.4], ...]. Sizes rise strictly and times are positive, so that log-log
/// interpolation holds.
std::vector<std::pair<Bytes, Seconds>> read_points(ObjectReader& reader) {
  std::vector<std::pair<Bytes, Seconds>> points;
  const Json* list = reader.raw("points_B_us");
  if (list == nullptr || !list->is_array() || list->empty()) {
    reader.problem("points_B_us",
                   "is missing or empty; an array of [bytes, microseconds] is expected");
    return points;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json& pair = (*list)[i];
    const std::string place = "points_B_us/" + std::to_string(i);
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number()) {
      reader.problem(place, "is not a pair [bytes, microseconds]");
      continue;
    }
    const double size = pair[0].get<double>(), time = pair[1].get<double>();
    if (!(size >= 1 && size <= 1e15) || !(time > 0 && time < 1e12)) {
      reader.problem(place, "is outside 1 to 1e15 bytes, or above 0 to 1e12 microseconds");
      continue;
    }
    if (!points.empty() && static_cast<double>(points.back().first.value) >= size) {
      reader.problem(place, "is not larger than the size before it", "sort the points by size");
      continue;
    }
    points.emplace_back(Bytes(std::llround(size)), Seconds(time * 1e-6));
  }
  return points;
}

FabricFit read_fabric_fit(ObjectReader reader) {
  FabricFit fit;
  fit.transport = reader.text("transport");
  fit.base_latency = Seconds(reader.number("base_latency_us", {.fallback = 0, .max = 1e6}) * 1e-6);
  fit.ring_step_latency = Seconds(reader.number("ring_step_latency_us", {.max = 1e6}) * 1e-6);
  fit.tree_step_latency = Seconds(reader.number("tree_step_latency_us", {.max = 1e6}) * 1e-6);
  fit.simple_step_latency =
      Seconds(reader.number("simple_step_latency_us", {.fallback = 14, .max = 1e6}) * 1e-6);
  fit.ll_efficiency = reader.number("ll_efficiency", {.fallback = 1, .min = 0.001, .max = 1});
  fit.ll_half_loss = reader.number("ll_half_loss_B", {.fallback = fit.ll_half_loss, .max = 1e13});
  fit.small_sigma = reader.number("small_sigma", {.fallback = fit.small_sigma, .max = 10});
  fit.large_sigma = reader.number("large_sigma", {.fallback = fit.large_sigma, .max = 10});
  fit.ll128 = reader.boolean("ll128", true);
  fit.two_node_tree = reader.boolean("two_node_tree", false);
  fit.large_efficiency = reader.number("large_efficiency", {.min = 0.01, .max = 1.0});
  fit.half_efficiency_size =
      Bytes(std::llround(reader.number("half_efficiency_B", {.fallback = 0, .max = 1e12})));
  fit.all_to_all_efficiency = reader.number("all_to_all_efficiency", {.min = 0.01, .max = 1.0});
  fit.pair_efficiency =
      reader.number("pair_efficiency", {.fallback = 0.8, .min = 0.01, .max = 1.0});
  fit.source = reader.text("source", "");
  reader.done();
  return fit;
}
/// Six significant digits: measurements carry three to five.
double rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::fabs(value))));
  return scale > 1 ? std::round(value * scale) / scale : value;
}
}  // namespace

CollectiveProfile read_collective_profile(ObjectReader reader) {
  CollectiveProfile profile;
  for (ObjectReader item : reader.objects("curves")) {
    CollectiveCurve curve;
    curve.collective = item.one_of<Collective>("collective");
    curve.ranks = static_cast<int>(item.integer("ranks", {.min = 2, .max = 4096}));
    curve.points = read_points(item);
    curve.source = item.text("source", "");
    item.done();
    if (!curve.points.empty()) profile.curves.push_back(std::move(curve));
  }
  for (ObjectReader item : reader.objects("fabrics"))
    profile.fabrics.push_back(read_fabric_fit(item));
  if (auto parameters = reader.object("parameters")) {
    for (const std::string& key : parameters->keys())
      profile.parameters[key] = parameters->number(key, {.min = -1e18, .max = 1e18});
    parameters->done();
  }
  reader.done();
  return profile;
}

Json json_of(const CollectiveProfile& profile) {
  Json curves = Json::array();
  for (const CollectiveCurve& curve : profile.curves) {
    Json points = Json::array();
    for (const auto& [size, time] : curve.points)
      points.push_back(Json::array({size.value, rounded(time.value * 1e6)}));
    curves.push_back(Json{{"collective", text_of(curve.collective)},
                          {"ranks", curve.ranks},
                          {"points_B_us", points},
                          {"source", curve.source}});
  }
  Json fabrics = Json::array();
  for (const FabricFit& fit : profile.fabrics)
    fabrics.push_back(Json{{"transport", fit.transport},
                           {"base_latency_us", rounded(fit.base_latency.value * 1e6)},
                           {"ring_step_latency_us", rounded(fit.ring_step_latency.value * 1e6)},
                           {"tree_step_latency_us", rounded(fit.tree_step_latency.value * 1e6)},
                           {"simple_step_latency_us", rounded(fit.simple_step_latency.value * 1e6)},
                           {"ll_efficiency", rounded(fit.ll_efficiency)},
                           {"ll_half_loss_B", rounded(fit.ll_half_loss)},
                           {"small_sigma", rounded(fit.small_sigma)},
                           {"large_sigma", rounded(fit.large_sigma)},
                           {"ll128", fit.ll128},
                           {"two_node_tree", fit.two_node_tree},
                           {"large_efficiency", rounded(fit.large_efficiency)},
                           {"half_efficiency_B", fit.half_efficiency_size.value},
                           {"all_to_all_efficiency", rounded(fit.all_to_all_efficiency)},
                           {"pair_efficiency", rounded(fit.pair_efficiency)},
                           {"source", fit.source}});
  Json parameters = Json::object();
  for (const auto& [name, value] : profile.parameters) parameters[name] = rounded(value);
  return Json{{"curves", curves}, {"fabrics", fabrics}, {"parameters", parameters}};
}
}  // namespace stepcast
