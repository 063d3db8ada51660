#include <fmt/format.h>

#include <iterator>

#include "sim/io/json.hpp"
#include "sim/report/compare/compare.hpp"

namespace stepcast {
namespace {
bool is_step_report(const Json& r) {
  const auto is_number_at = [&](const char* pointer) {
    const Json::json_pointer at(pointer);
    return r.contains(at) && r.at(at).is_number();
  };
  return r.is_object() && is_number_at("/step_time_s/p50") && is_number_at("/samples_per_s") &&
         r.contains("breakdown_s") && r["breakdown_s"].is_object();
}

double number_at(const Json& object, const std::string& key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

/// a, b and what changed; the relative change is null where a is zero.
Json row(double a, double b) {
  return {{"a", a},
          {"b", b},
          {"difference", b - a},
          {"relative", a != 0 ? Json((b - a) / a) : Json(nullptr)}};
}
}  // namespace

Json comparison_json(const Json& a, const Json& b, const std::string& a_name,
                     const std::string& b_name) {
  Problems problems;
  for (const auto& [report, name] : {std::pair{&a, &a_name}, {&b, &b_name}})
    if (!is_step_report(*report))
      problems.add(
          {*name, "", "is not a step report", "stepcast simulate -o DIR writes DIR/report.json"});
  if (!problems.empty()) throw InputError(problems);
  Json out{{"stepcast", 1}, {"kind", "comparison"}, {"a", a_name}, {"b", b_name}};
  out["step_time_s"] = row(number_at(a["step_time_s"], "p50"), number_at(b["step_time_s"], "p50"));
  for (const char* key :
       {"tokens_per_s", "samples_per_s", "model_flops_utilization", "hardware_flops_utilization"})
    out[key] = row(number_at(a, key), number_at(b, key));
  out["memory_worst_GiB"] = row(number_at(a.value("memory_GiB", Json::object()), "worst"),
                                number_at(b.value("memory_GiB", Json::object()), "worst"));
  out["breakdown_s"] = Json::object();
  for (const Json* report :
       {&a, &b})  // the union: reports of other versions may name other categories
    for (const auto& [category, ignored] : (*report)["breakdown_s"].items())
      out["breakdown_s"][category] =
          row(number_at(a["breakdown_s"], category), number_at(b["breakdown_s"], category));
  return out;
}

std::string comparison_text(const Json& c) {
  std::string text;
  const auto out = std::back_inserter(text);
  const auto add = [&](const std::string& name, const Json& r, double scale, const char* unit,
                       int digits) {
    const double a = r["a"].get<double>(), b = r["b"].get<double>();
    if (a == 0 && b == 0) return;
    const std::string relative = r["relative"].is_number()
                                     ? fmt::format("{:+.1f} %", 100 * r["relative"].get<double>())
                                     : "new";
    fmt::format_to(out, "  {:<28} {:>14.{}f} {:>14.{}f} {:>+14.{}f} {:>10}  {}\n", name, a * scale,
                   digits, b * scale, digits, (b - a) * scale, digits, relative, unit);
  };
  fmt::format_to(out, "a: {}\nb: {}\n\n  {:<28} {:>14} {:>14} {:>14} {:>10}\n",
                 c["a"].get<std::string>(), c["b"].get<std::string>(), "", "a", "b", "b - a",
                 "change");
  add("step", c["step_time_s"], 1e3, "ms", 3);
  for (const auto& [category, r] : c["breakdown_s"].items()) add("  " + category, r, 1e3, "ms", 3);
  add("tokens/s", c["tokens_per_s"], 1, "", 0);
  add("samples/s", c["samples_per_s"], 1, "", 2);
  add("MFU", c["model_flops_utilization"], 100, "%", 2);
  add("HFU", c["hardware_flops_utilization"], 100, "%", 2);
  add("memory of the fullest stage", c["memory_worst_GiB"], 1, "GiB", 2);
  return text;
}
}  // namespace stepcast
