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

/// What bars of strategies share: names, and which ones are no choice.
void name_rows(const std::vector<ReportPoint>& points, BarChart& chart) {
  chart.rows.clear();
  for (const ReportPoint& p : points) {
    chart.rows.push_back(p.name);
    chart.is_muted.push_back(p.figure("fits") == 0);
  }
  const auto muted = std::count(chart.is_muted.begin(), chart.is_muted.end(), true);
  if (muted > 0)
    chart.subtitle =
        fmt::format("pale: {} that {} not fit into memory", muted, muted == 1 ? "does" : "do");
}
BarChart rate_chart(const std::vector<ReportPoint>& points, const ReportBase& base) {
  BarChart chart;
  chart.title = "Throughput";
  chart.axis = rate_name(base);
  BarChart::Part rate{rate_name(base), {}};
  for (const ReportPoint& p : points) {
    rate.amounts.push_back(p.figure(rate_column(base)));
    chart.labels.push_back(rate_text(rate.amounts.back()));
  }
  chart.parts = {std::move(rate)};
  name_rows(points, chart);
  return chart;
}
BarChart memory_chart(const std::vector<ReportPoint>& points, const ReportBase& base) {
  BarChart chart;
  chart.title = "Memory of the fullest stage";
  chart.axis = "GiB";
  BarChart::Part memory{"memory", {}};
  for (const ReportPoint& p : points) {
    memory.amounts.push_back(p.figure("memory_worst_GiB"));
    chart.labels.push_back(fmt::format("{:.1f} GiB", memory.amounts.back()));
  }
  chart.parts = {std::move(memory)};
  name_rows(points, chart);
  chart.limit = base.report["memory_GiB"]["capacity"].get<double>();
  chart.limit_name = fmt::format("a GPU has {:.0f} GiB", chart.limit);
  return chart;
}

PageTable table_of(const std::vector<ReportPoint>& points, const ReportBase& base) {
  PageTable table{"Strategies, fastest first",
                  {"strategy", "step", "p05", "p95", rate_name(base), "MFU", "communication seen",
                   "fullest stage", "fits"},
                  {}};
  for (const ReportPoint& p : points) {
    double exposed = 0;
    for (const char* column :
         {"exposed_tp_s", "exposed_pp_s", "exposed_dp_s", "exposed_ep_s", "exposed_cp_s"})
      exposed += p.figure(column);
    table.rows.push_back(
        {p.name, seconds_text(p.figure("step_time_s")), seconds_text(p.figure("step_time_p05_s")),
         seconds_text(p.figure("step_time_p95_s")), rate_text(p.figure(rate_column(base))),
         percent_text(p.figure("model_flops_utilization")), seconds_text(exposed),
         fmt::format("{:.1f} GiB", p.figure("memory_worst_GiB")),
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
  BarChart breakdown = breakdown_bars(good, base, false);
  breakdown.title = "Where the step goes";
  name_rows(good, breakdown);
  Page page;
  page.title = "Strategy shoot-out: " + base.prepared.scenario.model.name;
  page.headline = headline(good, base);
  page.charts = {rate_chart(good, base), std::move(breakdown), memory_chart(good, base)};
  page.tables = {table_of(good, base)};
  add_refused(all, page);
  add_provenance(request, base, "strategies", page);
  page.assumptions.emplace_back(
      "Each strategy brings its framework's defaults for ZeRO stage, fusion and gradient precision "
      "where the scenario does not state them; layout and batch are the scenario's for all.");
  return page;
}
}  // namespace stepcast
