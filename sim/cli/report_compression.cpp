#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cli/report_points.hpp"

namespace stepcast {
namespace {
constexpr double kWorthwhileGain = 1.02;  // a gain below 2 % is within run-to-run spread

/// Rate of the cluster's own NIC in Gbit/s, to three decimals: 50e9 bytes/s is 400.
double own_rate(const Scenario& s) {
  return std::round(s.cluster.groups.front().spec.nic_bandwidth.value * 8e-6) / 1e3;
}

/// Rates of one NIC: Ethernet and InfiniBand generations, and the cluster's own.
std::vector<double> rates_of(const Scenario& s) {
  std::vector<double> rates{1, 10, 25, 50, 100, 200, 400};
  const double own = own_rate(s);
  if (std::find(rates.begin(), rates.end(), own) == rates.end()) rates.push_back(own);
  std::sort(rates.begin(), rates.end());
  return rates;
}

struct Grid {
  std::vector<std::string> schemes;
  std::vector<double> rates;
  std::vector<ReportPoint> points;  // scheme by scheme
  const ReportPoint& at(std::size_t scheme, std::size_t rate) const {
    return points[scheme * rates.size() + rate];
  }
  /// Step without compression over the step with; scheme 0 is "none".
  double gain(std::size_t scheme, std::size_t rate) const {
    return at(0, rate).figure("step_time_s") / at(scheme, rate).figure("step_time_s");
  }
  /// The scheme with the largest gain at a rate.
  std::size_t best(std::size_t rate) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < schemes.size(); ++i)
      if (gain(i, rate) > gain(best, rate)) best = i;
    return best;
  }
};

Grid grid_of(const Scenario& s) {
  Grid grid{enum_texts<CompressionScheme>(), rates_of(s), {}};
  for (const std::string& scheme : grid.schemes)
    for (const double rate : grid.rates) {
      ReportPoint point;
      point.name = fmt::format("{} at {:g} Gbit/s", scheme, rate);
      point.x = rate;
      point.settings = {fmt::format("/compression={{\"scheme\":\"{}\"}}", scheme),
                        fmt::format("/cluster/nic_Gbps={:g}", rate)};
      grid.points.push_back(std::move(point));
    }
  return grid;
}

Chart chart_of(const Grid& grid, bool is_gain) {
  Chart chart;
  chart.title = is_gain ? "What compression gains" : "Step time";
  chart.subtitle = is_gain ? "1: as without; encode and decode are part of the step" : "";
  chart.x = {.title = "rate of one NIC (Gbit/s)", .is_log = true, .categories = {}};
  chart.y = {.title = is_gain ? "step without / step with" : "step (s)",
             .is_log = !is_gain,
             .categories = {}};
  for (std::size_t i = is_gain ? 1 : 0; i < grid.schemes.size(); ++i) {
    ChartSeries series{.name = grid.schemes[i], .x = {}, .y = {}, .labels = {}};
    series.is_dashed = i == 0;
    for (std::size_t r = 0; r < grid.rates.size(); ++r) {
      if (!grid.at(i, r).is_good()) continue;
      series.x.push_back(grid.rates[r]);
      series.y.push_back(is_gain ? grid.gain(i, r) : grid.at(i, r).figure("step_time_s"));
    }
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string headline(const Grid& grid, const Scenario& s) {
  const double own = own_rate(s);
  const auto own_at = static_cast<std::size_t>(
      std::find(grid.rates.begin(), grid.rates.end(), own) - grid.rates.begin());
  const std::size_t best = grid.best(own_at);
  const double gain = grid.gain(best, own_at);
  std::string text =
      gain >= kWorthwhileGain
          ? fmt::format(
                "At the cluster's {:g} Gbit/s {} shortens the step to {} from {} ({:.2f} "
                "x).",
                own, grid.schemes[best], seconds_text(grid.at(best, own_at).figure("step_time_s")),
                seconds_text(grid.at(0, own_at).figure("step_time_s")), gain)
          : fmt::format(
                "At the cluster's {:g} Gbit/s no compressor shortens the step by more than "
                "2 % (best: {:+.1f} %).",
                own, 100 * (gain - 1));
  double up_to = 0;
  for (std::size_t r = 0; r < grid.rates.size(); ++r) {
    if (grid.gain(grid.best(r), r) < kWorthwhileGain) break;
    up_to = grid.rates[r];
  }
  if (up_to == 0) return text + " Nor does any pay at a slower network down to 1 Gbit/s.";
  const std::size_t slow = grid.best(0);
  return text + fmt::format(
                    " Compression pays up to {:g} Gbit/s; at {:g} Gbit/s {} gains {:.1f} "
                    "x.",
                    up_to, grid.rates[0], grid.schemes[slow], grid.gain(slow, 0));
}

PageTable table_of(const Grid& grid) {
  PageTable table{"Step time by scheme and rate of one NIC", {"scheme"}, {}};
  for (const double rate : grid.rates) table.header.push_back(fmt::format("{:g} Gbit/s", rate));
  table.header.emplace_back("bytes on the network");
  for (std::size_t i = 0; i < grid.schemes.size(); ++i) {
    std::vector<std::string> row{grid.schemes[i]};
    for (std::size_t r = 0; r < grid.rates.size(); ++r)
      row.push_back(seconds_text(grid.at(i, r).figure("step_time_s")));
    const double bytes = grid.at(i, 0).figure("network_bytes");
    row.push_back(std::isfinite(bytes) ? fmt::format("{:.4g} GB", bytes / 1e9) : "");
    table.rows.push_back(std::move(row));
  }
  return table;
}
}  // namespace

Page compression_report(const ReportRequest& request) {
  const ReportBase base = report_base(request);
  const Scenario& s = base.prepared.scenario;
  if (s.cluster.nodes() < 2)
    throw InputError(Problem{s.file, "/cluster/nodes", "one node sends nothing over a network",
                             "name a cluster of several nodes"});
  Grid grid = grid_of(s);
  simulate_points(request, grid.points);
  Page page;
  page.title = "Does compression pay: " + s.model.name;
  page.headline = headline(grid, s);
  page.charts = {chart_of(grid, true), chart_of(grid, false)};
  page.tables = {table_of(grid)};
  add_refused(grid.points, page);
  add_provenance(request, base, "compression", page);
  page.assumptions.emplace_back(
      "Where the profile has no measured compressor, encode and decode are memory traffic and thin "
      "GEMMs through its kernel tables. What compression does to learning is not in a step time; "
      "stepcast converge trains with it.");
  return page;
}
}  // namespace stepcast
