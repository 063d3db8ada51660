#include <fmt/format.h>

#include <iterator>

#include "sim/io/json.hpp"
#include "sim/report/report.hpp"

namespace stepcast {

Json collective_sweep_json(const Scenario& s, const Profile& profile,
                           const std::vector<SweepPoint>& points, const RunFacts& facts) {
  const CollectiveSweep& sweep = *s.collective_sweep;
  const int per_node =
      sweep.gpus_per_node > 0 ? sweep.gpus_per_node : s.cluster.groups.front().spec.gpus;
  Json report{{"stepcast", 1}, {"kind", "collective_sweep"}};
  report["scenario"] = {{"file", s.file},
                        {"name", s.name},
                        {"operation", std::string(text_of(sweep.collective))},
                        {"cluster", s.cluster.name},
                        {"nodes", s.cluster.nodes()},
                        {"gpus", s.cluster.nodes() * per_node}};
  report["points"] = Json::array();
  for (const SweepPoint& p : points)
    report["points"].push_back({{"size_B", p.size.value},
                                {"time_us", p.time_s * 1e6},
                                {"algbw_GBps", p.algbw / 1e9},
                                {"busbw_GBps", p.busbw / 1e9}});
  report["provenance"] = {{"profile", profile.name},
                          {"profile_sources", profile.sources},
                          {"seed", s.run.seed},
                          {"version", version()},
                          {"engine", std::string(text_of(facts.engine))}};
  report["simulation"] = {{"wall_s", facts.wall_s}, {"peak_rss_MiB", facts.peak_rss_MiB}};
  return report;
}

std::string collective_sweep_text(const Json& r) {
  std::string text;
  const auto out = std::back_inserter(text);
  const Json& s = r["scenario"];
  fmt::format_to(out,
                 "{} over {} GPUs on {} nodes  [{}]\n\n{:>16} {:>14} {:>14} {:>14}\n{:>16} {:>14} "
                 "{:>14} {:>14}\n",
                 s["operation"].get<std::string>(), s["gpus"].get<int>(), s["nodes"].get<int>(),
                 s["cluster"].get<std::string>(), "size", "time", "algbw", "busbw", "B", "us",
                 "GB/s", "GB/s");
  for (const Json& p : r["points"])
    fmt::format_to(out, "{:>16} {:>14.2f} {:>14.2f} {:>14.2f}\n", p["size_B"].get<std::int64_t>(),
                   p["time_us"].get<double>(), p["algbw_GBps"].get<double>(),
                   p["busbw_GBps"].get<double>());
  fmt::format_to(
      out, "\nsimulated       in {:.2f} s and {:.0f} MiB by {}; profile {}\n",
      r["simulation"]["wall_s"].get<double>(), r["simulation"]["peak_rss_MiB"].get<double>(),
      r["provenance"]["engine"].get<std::string>(), r["provenance"]["profile"].get<std::string>());
  return text;
}
}  // namespace stepcast
