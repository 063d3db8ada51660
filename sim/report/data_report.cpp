#include "sim/report/data_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {
/// Loaders that nothing limits have no finite rate.
Json rate_json(double samples_per_s) {
  return std::isfinite(samples_per_s) ? Json(samples_per_s) : Json(nullptr);
}
std::string rate_text(const Json& rate) {
  return rate.is_number() ? fmt::format("{:.4g} samples/s", rate.get<double>()) : "no limit";
}
}  // namespace

Json data_json(const Scenario& s, const Forecast& f) {
  if (!f.data || !s.data) return nullptr;
  const DataForecast& d = *f.data;
  Json out{{"storage", std::string(text_of(s.data->storage.kind))},
           {"storage_preset", s.data->storage.preset},
           {"format", std::string(text_of(s.data->format))},
           {"epoch", s.data->epoch},
           {"sustained_samples_per_s", rate_json(d.sustained_samples_per_s)},
           {"needed_samples_per_s", d.needed_samples_per_s},
           {"stall_s", d.stall_s},
           {"stall_share", d.stall_share},
           {"step_without_stall_s", d.step_without_stall_s},
           {"bound_by", d.bounds.empty() ? "" : d.bounds.front().what},
           {"cache_hit_share", d.hit_share},
           {"read_bytes_per_sample", d.read_bytes_per_sample},
           {"requests_per_sample", d.requests_per_sample},
           {"first_batch_s", rate_json(d.first_batch_s)},
           {"host_memory_GiB_per_node", d.host_bytes_per_node / 1073741824.0}};
  out["bounds_samples_per_s"] = Json::array();
  for (const DataBound& b : d.bounds)
    out["bounds_samples_per_s"].push_back({{"what", b.what}, {"samples_per_s", b.samples_per_s}});
  out["remedies"] = Json::array();
  for (const DataRemedy& r : d.remedies)
    out["remedies"].push_back({{"key", r.key}, {"from", r.from}, {"to", r.to}});
  out["remedies_suffice"] = d.is_cured;
  return out;
}

std::string data_text(const Json& d) {
  if (!d.is_object()) return "";
  std::string text = fmt::format(
      "\ndata            loaders sustain {}, training takes {}; {:.1f} % of the step waits\n",
      rate_text(d["sustained_samples_per_s"]), rate_text(d["needed_samples_per_s"]),
      100 * d["stall_share"].get<double>());
  constexpr std::size_t kShown = 3;
  const Json& bounds = d["bounds_samples_per_s"];
  for (std::size_t i = 0; i < std::min(kShown, bounds.size()); ++i)
    text += fmt::format("  {:<52} {}\n", bounds[i]["what"].get<std::string>(),
                        rate_text(bounds[i]["samples_per_s"]));
  if (const double hit = d["cache_hit_share"].get<double>(); hit > 0)
    text += fmt::format("  {:.1f} % of the bytes come from the cache in epoch {}\n", 100 * hit,
                        d["epoch"].get<int>());
  if (d["remedies"].empty()) return text;
  text += fmt::format("  to keep up{}:", d["remedies_suffice"].get<bool>() ? "" : " (not enough)");
  for (const Json& r : d["remedies"])
    text += fmt::format(" {} {:.4g} -> {:.4g}", r["key"].get<std::string>(),
                        r["from"].get<double>(), r["to"].get<double>());
  return text + "\n";
}
}  // namespace stepcast
