#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cli/report_points.hpp"

namespace stepcast {
namespace {
std::vector<ReportPoint> points_of() {
  std::vector<ReportPoint> points;
  for (const std::string& name : preset_names("strategies")) {
    ReportPoint point;
    point.name = name;
    point.settings = {fmt::format("/strategy={{\"preset\":\"{}\"}}", name)};
    points.push_back(std::move(point));
  }
  return points;
}

/// Fastest first; what does not fit into memory after what does.
void sort_by_rate(std::vector<ReportPoint>& points, const std::string& column) {
  std::stable_sort(points.begin(), points.end(), [&](const ReportPoint& a, const ReportPoint& b) {
    if ((a.figure("fits") > 0) != (b.figure("fits") > 0)) return a.figure("fits") > 0;
    return a.figure(column) > b.figure(column);
  });
}

Chart chart_of(const std::vector<ReportPoint>& points, const std::string& title,
               const std::string& axis, const std::vector<std::pair<std::string, std::string>>& of,
               double scale) {
  Chart chart;
  chart.title = title;
  const auto fitting = std::count_if(points.begin(), points.end(),
                                     [](const auto& p) { return p.figure("fits") > 0; });
  chart.subtitle = fitting == static_cast<std::ptrdiff_t>(points.size())
                       ? "all fit into memory"
                       : fmt::format("places after {} do not fit into memory", fitting);
  chart.x = {.title = "place in the table below", .categories = {}};
  chart.y = {.title = axis, .categories = {}};
  for (std::size_t i = 0; i < points.size(); ++i)
    chart.x.categories.push_back(std::to_string(i + 1));
  for (const auto& [column, name] : of) {
    ChartSeries series{.name = name, .x = {}, .y = {}, .labels = {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
      series.x.push_back(static_cast<double>(i));
      series.y.push_back(scale * points[i].figure(column));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

PageTable table_of(const std::vector<ReportPoint>& points, const ReportBase& base) {
  PageTable table{"Strategies, fastest first",
                  {"place", "strategy", "step", "p05", "p95", rate_name(base), "MFU",
                   "communication seen", "fullest stage", "fits"},
                  {}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ReportPoint& p = points[i];
    double exposed = 0;
    for (const char* column :
         {"exposed_tp_s", "exposed_pp_s", "exposed_dp_s", "exposed_ep_s", "exposed_cp_s"})
      exposed += p.figure(column);
    table.rows.push_back(
        {std::to_string(i + 1), p.name, seconds_text(p.figure("step_time_s")),
         seconds_text(p.figure("step_time_p05_s")), seconds_text(p.figure("step_time_p95_s")),
         rate_text(p.figure(rate_column(base))), percent_text(p.figure("model_flops_utilization")),
         seconds_text(exposed), fmt::format("{:.1f} GiB", p.figure("memory_worst_GiB")),
         p.figure("fits") > 0 ? "yes" : "no"});
  }
  return table;
}

std::string headline(const std::vector<ReportPoint>& points, const ReportBase& base) {
  const std::string column = rate_column(base);
  const ReportPoint& first = points.front();
  if (first.figure("fits") == 0)
    return fmt::format(
        "None of the {} strategies fits into {:.0f} GiB in this layout. The one "
        "with the highest rate, {}, needs {:.1f} GiB.",
        points.size(), base.report["memory_GiB"]["capacity"].get<double>(), first.name,
        first.figure("memory_worst_GiB"));
  const std::string own = base.prepared.scenario.strategy.preset;
  const auto mine = std::find_if(points.begin(), points.end(),
                                 [&](const ReportPoint& p) { return p.name == own; });
  std::string text = fmt::format(
      "{} is the fastest that fits, of {} strategies that run in this layout: {} {}, a "
      "step of {}.",
      first.name, points.size(), rate_text(first.figure(column)), rate_name(base),
      seconds_text(first.figure("step_time_s")));
  if (mine == points.end() || mine == points.begin())
    return text + (points.size() > 1
                       ? fmt::format(" The second, {}, reaches {:.1f} % of that.", points[1].name,
                                     100 * points[1].figure(column) / first.figure(column))
                       : " No other can run it.");
  return text + fmt::format(" The scenario's own {} reaches {:.1f} % of that.", own,
                            100 * mine->figure(column) / first.figure(column));
}
}  // namespace

Page strategies_report(const ReportRequest& request) {
  const ReportBase base = report_base(request);
  std::vector<ReportPoint> all = points_of();
  simulate_points(request, all);
  std::vector<ReportPoint> good;
  for (const ReportPoint& p : all)
    if (p.is_good()) good.push_back(p);
  sort_by_rate(good, rate_column(base));
  Chart memory = chart_of(good, "Memory of the fullest stage", "memory (GiB)",
                          {{"memory_worst_GiB", "the fullest stage"}}, 1);
  const double capacity = base.report["memory_GiB"]["capacity"].get<double>();
  memory.series.push_back({.name = "the GPU's memory",
                           .x = memory.series.front().x,
                           .y = std::vector<double>(good.size(), capacity),
                           .labels = {},
                           .is_dashed = true});
  Page page;
  page.title = "Strategy shoot-out: " + base.prepared.scenario.model.name;
  page.headline = headline(good, base);
  page.charts = {chart_of(good, "Throughput", "throughput (" + rate_name(base) + ")",
                          {{rate_column(base), rate_name(base)}}, 1),
                 chart_of(good, "Where the step goes", "time of the critical rank (s)",
                          {{"step_time_s", "step"},
                           {"compute_s", "compute"},
                           {"exposed_dp_s", "exposed data-parallel communication"},
                           {"bubble_s", "bubble"}},
                          1),
                 std::move(memory)};
  page.tables = {table_of(good, base)};
  add_refused(all, page);
  add_provenance(request, base, "strategies", page);
  page.assumptions.emplace_back(
      "Each strategy brings its framework's defaults for ZeRO stage, fusion and gradient precision "
      "where the scenario does not state them; layout and batch are the scenario's for all.");
  return page;
}
}  // namespace stepcast
