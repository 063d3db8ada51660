#include "sim/report/tradeoffs_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/robust_stats.hpp"
#include "sim/io/json.hpp"

namespace stepcast {

Json distribution_json(const std::vector<double>& times) {
  if (times.size() < 2) return nullptr;
  const double middle = mean(times);
  double variance = 0;
  for (const double t : times)
    variance += (t - middle) * (t - middle) / static_cast<double>(times.size() - 1);
  Json out{{"steps", times.size()},
           {"mean", middle},
           {"standard_deviation", std::sqrt(variance)},
           {"min", *std::min_element(times.begin(), times.end())}};
  for (const auto& [name, q] : {std::pair{"p05", 0.05}, {"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}})
    out[name] = quantile(times, q);
  out["max"] = *std::max_element(times.begin(), times.end());
  return out;
}

Json stragglers_json(const Scenario& s, const Forecast& f, double mean_step_s) {
  if (!f.straggler_free_s) return nullptr;
  Json out{{"causes", s.stragglers.size()},
           {"straggler_free_step_s", *f.straggler_free_s},
           {"slowdown",
            *f.straggler_free_s > 0 ? Json(mean_step_s / *f.straggler_free_s) : Json(nullptr)},
           {"run_s", f.run_s},
           {"evictions", Json::array()}};
  for (const Eviction& e : f.evictions)
    out["evictions"].push_back({{"after_step", e.step},
                                {"node", e.node},
                                {"slowness", e.slowness},
                                {"by_spare", e.has_spare}});
  return out;
}

Json synchronisation_json(const Scenario& s, const Forecast& f) {
  if (!f.sync) return nullptr;
  const SyncOutcome& o = *f.sync;
  Json out{{"mode", std::string(text_of(s.sync.mode))},
           {"workers", o.per_worker.size()},
           {"updates", o.updates.size() - static_cast<std::size_t>(o.dropped)},
           {"dropped", o.dropped},
           {"updates_per_s", o.updates_per_s},
           {"samples_per_s", o.samples_per_s},
           {"simulated_s", o.end_s},
           {"bytes_sent", o.bytes_sent}};
  Json staleness{
      {"mean", o.mean_staleness}, {"max", o.most_staleness}, {"histogram", Json::object()}};
  for (const auto& [value, count] : o.staleness)
    staleness["histogram"][std::to_string(value)] = count;
  out["staleness"] = staleness;
  Json servers = Json::array();
  for (const ServerUse& u : o.servers)
    servers.push_back({{"utilisation", u.utilisation},
                       {"nic_in", u.rx_utilisation},
                       {"nic_out", u.tx_utilisation},
                       {"stored_GiB", u.stored_bytes / 1073741824.0}});
  out["servers"] = servers;
  double fewest = 0, most = 0;
  for (std::size_t w = 0; w < o.steps_of_worker.size(); ++w) {
    fewest = w == 0 ? o.steps_of_worker[w] : std::min(fewest, o.steps_of_worker[w]);
    most = std::max(most, o.steps_of_worker[w]);
  }
  out["steps_of_worker"] = {{"fewest", fewest}, {"most", most}};
  return out;
}

namespace {
Json remedies_json(const std::vector<StragglerRemedy>& list, const StragglerAnalysis& a) {
  Json out = Json::array();
  const double lost = a.mean_s - a.straggler_free_s;
  for (const StragglerRemedy& r : list)
    out.push_back({{"what", r.what},
                   {"step_s", r.step_s},
                   {"saved_s", a.mean_s - r.step_s},
                   {"recovered",
                    lost > 1e-12 * a.mean_s ? Json((a.mean_s - r.step_s) / lost) : Json(nullptr)}});
  return out;
}
}  // namespace

Json straggler_analysis_json(const Scenario& s, const StragglerAnalysis& a) {
  Json out{{"stepcast", 1},
           {"kind", "stragglers"},
           {"scenario", s.name.empty() ? s.file : s.name},
           {"steps", a.step_s.size()},
           {"mean_step_s", a.mean_s},
           {"straggler_free_step_s", a.straggler_free_s},
           {"slowdown", a.straggler_free_s > 0 ? a.mean_s / a.straggler_free_s : 1},
           {"step_distribution_s", distribution_json(a.step_s)}};
  out["causes"] = remedies_json(a.causes, a);
  out["nodes"] = remedies_json(a.nodes, a);
  out["stages"] = remedies_json(a.stages, a);
  out["remedies"] = remedies_json(a.remedies, a);
  out["critical_steps"] = Json::array();
  for (const auto& [node, steps] : a.critical_steps)
    out["critical_steps"].push_back({{"node", node}, {"steps", steps}});
  out["step_s"] = a.step_s;
  return out;
}

std::string straggler_analysis_text(const Json& a) {
  std::string text = fmt::format(
      "step            {:.6g} s on average over {} steps, {:.6g} s without stragglers: {:.3f} x\n",
      a["mean_step_s"].get<double>(), a["steps"].get<std::size_t>(),
      a["straggler_free_step_s"].get<double>(), a["slowdown"].get<double>());
  if (const Json& d = a["step_distribution_s"]; d.is_object())
    text += fmt::format(
        "distribution    p05 {:.6g}  p50 {:.6g}  p95 {:.6g}  p99 {:.6g}  max {:.6g} s\n",
        d["p05"].get<double>(), d["p50"].get<double>(), d["p95"].get<double>(),
        d["p99"].get<double>(), d["max"].get<double>());
  for (const auto& [key, head] : {std::pair{"causes", "by cause"},
                                  {"nodes", "by node (replaced by a healthy one)"},
                                  {"stages", "by pipeline stage"},
                                  {"remedies", "what else would help"}}) {
    if (a[key].empty()) continue;
    text += fmt::format("\n{}\n", head);
    for (const Json& r : a[key])
      text += fmt::format(
          "  {:<52} step {:.6g} s, saves {:.4g} s{}\n", r["what"].get<std::string>(),
          r["step_s"].get<double>(), r["saved_s"].get<double>(),
          r["recovered"].is_number()
              ? fmt::format(" ({:.0f} % of the loss)", 100 * r["recovered"].get<double>())
              : "");
  }
  if (!a["critical_steps"].empty()) {
    text += "\nlatest node     ";
    for (std::size_t i = 0; i < std::min<std::size_t>(8, a["critical_steps"].size()); ++i)
      text += fmt::format("{}node {} in {} steps", i > 0 ? ", " : "",
                          a["critical_steps"][i]["node"].get<int>(),
                          a["critical_steps"][i]["steps"].get<int>());
    text += "\n";
  }
  return text;
}

Json stragglers_section(const std::vector<StragglerSpec>& causes) {
  Json list = Json::array();
  const auto ranges = [](const std::vector<std::pair<int, int>>& all) {
    std::string text;
    for (const auto& [first, last] : all)
      text +=
          fmt::format("{}{}", text.empty() ? "" : ",",
                      first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
    return text.empty() ? std::string("*") : text;
  };
  for (const StragglerSpec& c : causes) {
    Json one{{c.is_by_node ? "nodes" : "ranks", ranges(c.is_by_node ? c.nodes : c.ranks)}};
    if (c.compute_slowdown != 1) one["compute_slowdown"] = c.compute_slowdown;
    if (c.lognormal_sigma > 0)
      one["jitter"] = {{"distribution", "lognormal"}, {"sigma", c.lognormal_sigma}};
    else if (c.jitter.sigma > 0)
      one["jitter"] = {{"distribution", "lognormal"},
                       {"sigma", c.jitter.sigma},
                       {"each", std::string(text_of(c.jitter.each))}};
    if (c.burst.every_s > 0)
      one["burst"] = {{"every_s", c.burst.every_s},
                      {"duration_s", c.burst.duration_s},
                      {"slowdown", c.burst.slowdown}};
    if (c.drift.per_hour > 0)
      one["drift"] = {{"per_hour", c.drift.per_hour}, {"limit", c.drift.limit}};
    if (one.size() > 1) list.push_back(std::move(one));
  }
  return list;
}
}  // namespace stepcast
