// The report of an nccl-tests import for a terminal.
#include <fmt/format.h>

#include <map>
#include <set>

#include "sim/collective/collective_model.hpp"
#include "sim/core/result.hpp"
#include "sim/import/nccl_tests/curves.hpp"

namespace stepcast::nccl_tests {
std::string report_text(const Import& import) {
  std::string out = fmt::format("{} sweeps, {} rows read, {} lost\n\n", import.sweeps.size(),
                                import.rows_read, import.rows_lost);
  out += fmt::format("{:<15} {:>5} {:>9} {:>6} {:>12} {:>12} {:>14}  {}\n", "collective", "nodes",
                     "GPUs/node", "sweeps", "smallest us", "largest B", "busbw GB/s", "system");
  for (const MeasuredCurve& c : import.curves) {
    const auto& [size, time] = c.points.back();
    const double busbw =
        size / BytesPerSecond(1e9 * time.value) / Seconds(1.0) * bus_factor(c.collective, c.ranks);
    out += fmt::format("{:<15} {:>5} {:>9} {:>6} {:>12.2f} {:>12} {:>14.2f}  {}{}\n",
                       text_of(c.collective), c.nodes, c.ranks_per_node, c.sweeps,
                       c.points.front().second.value * 1e6, size.value, busbw, c.system,
                       c.is_suspect ? "  SUSPECT" : "");
  }
  out += import.findings.empty() ? "\nNothing looks wrong in these measurements.\n"
                                 : "\nWhat looks wrong:\n";
  for (const Severity severity : {Severity::error, Severity::warning, Severity::info})
    for (const Finding& f : import.findings)
      if (f.severity == severity)
        out += fmt::format("  {:<7} {}: {}{}\n", text_of(f.severity), f.name, f.text,
                           f.file.empty() ? "" : " [" + f.file + "]");
  if (!import.anomalies.empty()) out += "\nReading the logs:\n" + import.anomalies.text();
  return out;
}

std::string forecast_text(const Import& import, std::span<const int> nodes) {
  // A group is predicted from its own system only.
  std::map<std::pair<std::string, int>, std::vector<MeasuredCurve>> systems;
  for (const MeasuredCurve& c : import.curves)
    if (c.nodes > 1 && !c.is_suspect) systems[{c.system, c.ranks_per_node}].push_back(c);
  if (systems.empty())
    throw InputError(Problem{"--forecast-nodes", "", "no sound sweep over two nodes or more",
                             "give logs of at least one node count above 1"});
  std::string out = fmt::format(
      "\nForecast, from the sweeps over several nodes:\n{:<15} {:>5} "
      "{:>9} {:>12} {:>14} {:>12}  {}\n",
      "collective", "nodes", "GPUs/node", "size B", "time us", "busbw GB/s", "system, from nodes");
  for (const auto& [key, curves] : systems) {
    const auto& [system, g] = key;
    std::map<Collective, std::vector<const MeasuredCurve*>> by_collective;
    for (const MeasuredCurve& c : curves) by_collective[c.collective].push_back(&c);
    for (const auto& [collective, own] : by_collective) {
      std::vector<std::string> counts;
      std::set<std::int64_t> sizes;
      for (const MeasuredCurve* c : own) {
        counts.push_back(std::to_string(c->nodes));
        for (const auto& [size, time] : c->points) sizes.insert(size.value);
      }
      for (const int count : nodes)
        for (const std::int64_t size : sizes) {
          const auto time = predicted_time(curves, collective, count, g, Bytes(size));
          if (!time) continue;
          const double busbw =
              static_cast<double>(size) / time->value * bus_factor(collective, count * g) * 1e-9;
          out += fmt::format("{:<15} {:>5} {:>9} {:>12} {:>14.2f} {:>12.2f}  {}, {}\n",
                             text_of(collective), count, g, size, time->value * 1e6, busbw, system,
                             joined(counts));
        }
    }
  }
  return out;
}
}  // namespace stepcast::nccl_tests
