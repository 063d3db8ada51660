#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cli/report_points.hpp"
#include "sim/core/counted.hpp"

namespace stepcast {
namespace {
std::string nodes_text(double count) { return counted(count, "node"); }
constexpr double kWorthwhileEfficiency = 0.8;  // of linear: the usual bar of a scaling study

/// Powers of two from the smallest cluster that holds one model copy to four times the scenario's.
std::vector<int> cluster_sizes(const Scenario& s) {
  const ParallelLayout& p = s.parallel;
  const int gpus = s.cluster.groups.front().spec.gpus;
  const int copy = std::max(1, (p.tp * p.pp * p.cp + gpus - 1) / gpus);
  std::vector<int> sizes;
  for (int n = copy; n < 4 * s.cluster.nodes(); n *= 2) sizes.push_back(n);
  sizes.push_back(4 * s.cluster.nodes());
  if (std::find(sizes.begin(), sizes.end(), s.cluster.nodes()) == sizes.end())
    sizes.push_back(s.cluster.nodes());
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

std::vector<ReportPoint> points_of(const Scenario& s, const std::vector<int>& sizes, bool is_weak) {
  const ParallelLayout& p = s.parallel;
  const int gpus = s.cluster.groups.front().spec.gpus;
  std::vector<ReportPoint> points;
  for (const int nodes : sizes) {
    ReportPoint point;
    point.name = fmt::format("{} nodes, {}", nodes, is_weak ? "batch in proportion" : "same batch");
    point.x = nodes;
    const int replicas = nodes * gpus / (p.tp * p.pp * p.cp);
    const std::int64_t batch =
        is_weak ? s.training.global_batch * replicas / std::max(1, p.dp) : s.training.global_batch;
    point.settings = {fmt::format("/cluster/nodes={}", nodes),
                      fmt::format("/parallel/dp={}", replicas),
                      fmt::format("/training/global_batch={}", batch)};
    points.push_back(std::move(point));
  }
  return points;
}

struct Line {
  std::string name;
  std::vector<ReportPoint> points;
  /// Throughput per node against the smallest cluster that was simulated.
  double efficiency(const ReportPoint& point, const std::string& column) const {
    for (const ReportPoint& first : points)
      if (first.is_good()) return point.figure(column) / point.x / (first.figure(column) / first.x);
    return NAN;
  }
  std::size_t simulated() const {
    return static_cast<std::size_t>(
        std::count_if(points.begin(), points.end(), [](const auto& p) { return p.is_good(); }));
  }
  const ReportPoint* at(double nodes) const {
    for (const ReportPoint& p : points)
      if (p.x == nodes && p.is_good()) return &p;
    return nullptr;
  }
};

Chart throughput_chart(const std::vector<Line>& lines, const ReportBase& base) {
  Chart chart;
  chart.title = "Throughput over nodes";
  chart.subtitle = "dashed: the smallest cluster's rate times its nodes";
  chart.x = {.title = "nodes", .is_log = true, .categories = {}};
  chart.y = {.title = "throughput (" + rate_name(base) + ")", .is_log = true, .categories = {}};
  ChartSeries linear{.name = "linear", .x = {}, .y = {}, .labels = {}, .is_dashed = true};
  for (const Line& line : lines) {
    if (line.simulated() == 0) continue;
    ChartSeries series{.name = line.name, .x = {}, .y = {}, .labels = {}};
    for (const ReportPoint& p : line.points)
      if (p.is_good()) {
        series.x.push_back(p.x);
        series.y.push_back(p.figure(rate_column(base)));
      }
    if (linear.x.empty() && !series.x.empty())
      for (const double x : {series.x.front(), series.x.back()}) {
        linear.x.push_back(x);
        linear.y.push_back(series.y.front() * x / series.x.front());
      }
    chart.series.push_back(std::move(series));
  }
  chart.series.push_back(std::move(linear));
  return chart;
}

Chart efficiency_chart(const std::vector<Line>& lines, const ReportBase& base) {
  Chart chart;
  chart.title = "Efficiency against the smallest cluster";
  chart.x = {.title = "nodes", .is_log = true, .categories = {}};
  chart.y = {.title = "throughput per node (% of the smallest's)", .categories = {}};
  for (const Line& line : lines) {
    if (line.simulated() == 0) continue;
    ChartSeries series{.name = line.name, .x = {}, .y = {}, .labels = {}};
    for (const ReportPoint& p : line.points)
      if (p.is_good()) {
        series.x.push_back(p.x);
        series.y.push_back(100 * line.efficiency(p, rate_column(base)));
      }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

/// Shares of the step by who owns them, for the line that the headline tells of.
BarChart breakdown_chart(const Line& line, const ReportBase& base) {
  std::vector<ReportPoint> good;
  for (const ReportPoint& p : line.points)
    if (p.is_good()) good.push_back(p);
  BarChart chart = breakdown_bars(good, base, true);
  chart.title = "What fills the step, " + line.name;
  for (std::size_t i = 0; i < good.size(); ++i) chart.rows[i] = nodes_text(good[i].x);
  return chart;
}

PageTable table_of(const Line& line, const ReportBase& base) {
  PageTable table{line.name,
                  {"nodes", "GPUs", "step", "p05", "p95", rate_name(base), "efficiency", "MFU",
                   "fullest stage", "fits", "USD per step"},
                  {}};
  for (const ReportPoint& p : line.points) {
    if (!p.is_good()) continue;
    const double usd = p.figure("usd_per_step");
    table.rows.push_back(
        {fmt::format("{}", p.x), fmt::format("{}", p.figure("gpus")),
         seconds_text(p.figure("step_time_s")), seconds_text(p.figure("step_time_p05_s")),
         seconds_text(p.figure("step_time_p95_s")), rate_text(p.figure(rate_column(base))),
         percent_text(line.efficiency(p, rate_column(base))),
         percent_text(p.figure("model_flops_utilization")),
         fmt::format("{:.1f} GiB", p.figure("memory_worst_GiB")),
         p.figure("fits") > 0 ? "yes" : "no",
         std::isfinite(usd) ? fmt::format("{:.4g}", usd) : ""});
  }
  return table;
}

std::string headline(const Line& line, const ReportBase& base) {
  const double own = base.prepared.scenario.cluster.nodes();
  const ReportPoint* here = line.at(own);
  const ReportPoint *last_good = nullptr, *largest = nullptr;
  for (const ReportPoint& p : line.points) {
    if (!p.is_good()) continue;
    largest = &p;
    if (line.efficiency(p, rate_column(base)) >= kWorthwhileEfficiency) last_good = &p;
  }
  std::string text = here == nullptr
                         ? ""
                         : fmt::format("On {} a step takes {} and the cluster makes {} {}. ",
                                       nodes_text(own), seconds_text(here->figure("step_time_s")),
                                       rate_text(here->figure(rate_column(base))), rate_name(base));
  text += "With " + line.name;
  if (line.simulated() == 1)
    return text +
           fmt::format(" only {} can be simulated: no scaling to judge.", nodes_text(largest->x));
  if (last_good == largest)
    return text + fmt::format(
                      " throughput per node stays above {:.0f} % of "
                      "the smallest cluster's up to {} nodes, the largest simulated.",
                      100 * kWorthwhileEfficiency, largest->x);
  return text + fmt::format(
                    " scaling stops paying after {} nodes: {} nodes "
                    "reach {:.0f} % of linear.",
                    last_good->x, largest->x, 100 * line.efficiency(*largest, rate_column(base)));
}
}  // namespace

Page scaling_report(const ReportRequest& request) {
  const ReportBase base = report_base(request);
  const Scenario& s = base.prepared.scenario;
  if (!s.cluster.is_uniform())
    throw InputError(Problem{s.file, "/cluster/groups", "a cluster of unlike nodes has no one size",
                             "name one kind of node"});
  std::vector<int> sizes = request.nodes.empty() ? cluster_sizes(s) : request.nodes;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<Line> lines{{"the same batch", points_of(s, sizes, false)},
                          {"the batch in proportion", points_of(s, sizes, true)}};
  std::vector<ReportPoint> all = lines[0].points;
  all.insert(all.end(), lines[1].points.begin(), lines[1].points.end());
  simulate_points(request, all);
  for (std::size_t i = 0; i < all.size(); ++i)
    lines[i / sizes.size()].points[i % sizes.size()] = all[i];

  Page page;
  page.title = "Where scaling stops: " + s.model.name;
  // The same batch says more, unless the rules leave it fewer than two sizes to compare.
  const Line& told = lines[0].simulated() > 1 || lines[1].simulated() == 0 ? lines[0] : lines[1];
  page.headline = headline(told, base);
  page.charts = {throughput_chart(lines, base), efficiency_chart(lines, base),
                 breakdown_chart(told, base)};
  for (const Line& line : lines) page.tables.push_back(table_of(line, base));
  add_refused(all, page);
  add_provenance(request, base, "scaling", page);
  return page;
}
}  // namespace stepcast
