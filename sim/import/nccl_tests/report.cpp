// The report of an nccl-tests import for a terminal.
#include <fmt/format.h>

#include "sim/import/nccl_tests/curves.hpp"

namespace stepcast::nccl_tests {
std::string report_text(const Import& import) {
  std::string out = fmt::format("{} sweeps, {} rows read, {} lost\n\n", import.sweeps.size(),
                                import.rows_read, import.rows_lost);
  out += fmt::format("{:<15} {:>5} {:>9} {:>6} {:>12} {:>12} {:>14}  {}\n", "collective", "nodes",
                     "GPUs/node", "sweeps", "smallest us", "largest B", "busbw GB/s", "system");
  for (const MeasuredCurve& c : import.curves) {
    const auto& [size, time] = c.points.back();
    Sweep shape;
    for (int i = 0; i <= static_cast<int>(Test::unknown); ++i)
      if (collective_of(static_cast<Test>(i)) == c.collective) shape.test = static_cast<Test>(i);
    const double busbw =
        size / BytesPerSecond(1e9 * time.value) / Seconds(1.0) * bus_factor(shape.test, c.ranks);
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
}  // namespace stepcast::nccl_tests
