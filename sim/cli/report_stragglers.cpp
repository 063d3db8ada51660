#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cli/report_points.hpp"

namespace stepcast {
namespace {
constexpr int kSteps = 20;  // per level of jitter: its mean is then known to a few tenths of sigma

/// One node slower by a factor: what a bad GPU costs the whole job.
std::vector<ReportPoint> slow_node_points(int node) {
  std::vector<ReportPoint> points;
  for (const double factor : {1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0}) {
    ReportPoint point;
    point.name = fmt::format("one node {:g} times as slow", factor);
    point.x = factor;
    point.settings = {
        factor > 1 ? fmt::format("/stragglers=[{{\"nodes\":\"{}\",\"compute_slowdown\":{:g}}}]",
                                 node, factor)
                   : "/stragglers=[]"};
    points.push_back(std::move(point));
  }
  return points;
}
/// Every rank's passes vary: what waiting for the slowest costs.
std::vector<ReportPoint> jitter_points(const Scenario& s) {
  std::vector<ReportPoint> points;
  for (const double sigma : {0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3}) {
    ReportPoint point;
    point.name = fmt::format("jitter of sigma {:g}", sigma);
    point.x = sigma;
    point.settings = {
        sigma > 0 ? fmt::format("/stragglers=[{{\"ranks\":\"*\",\"jitter\":{{\"distribution\":"
                                "\"lognormal\",\"sigma\":{:g}}}}}]",
                                sigma)
                  : "/stragglers=[]",
        fmt::format("/run/steps={}", std::max(kSteps, s.run.steps))};
    points.push_back(std::move(point));
  }
  return points;
}

double free_step(const std::vector<ReportPoint>& points) {
  return points.front().figure("step_time_s");
}

Chart slowdown_chart(const std::vector<ReportPoint>& points, const std::string& title,
                     const std::string& x_title, bool shows_own) {
  Chart chart;
  chart.title = title;
  chart.x = {.title = x_title, .categories = {}, .is_amount = false};
  chart.y = {.title = "step / step without stragglers", .categories = {}, .is_amount = false};
  ChartSeries series{.name = "the job", .x = {}, .y = {}, .labels = {}};
  ChartSeries own{.name = "the slow node alone", .x = {}, .y = {}, .labels = {}, .is_dashed = true};
  for (const ReportPoint& p : points) {
    if (!p.is_good()) continue;
    series.x.push_back(p.x);
    series.y.push_back(p.figure("step_time_s") / free_step(points));
    own.x.push_back(p.x);
    own.y.push_back(p.x);
  }
  chart.series.push_back(std::move(series));
  if (shows_own) chart.series.push_back(std::move(own));
  return chart;
}

PageTable table_of(const std::vector<ReportPoint>& points, const std::string& title,
                   const std::string& first) {
  PageTable table{title, {first, "step", "slowdown", "USD per step"}, {}};
  const bool has_spread = std::any_of(points.begin(), points.end(), [](const ReportPoint& p) {
    return std::isfinite(p.figure("step_time_p99_s"));
  });
  if (has_spread) table.header.emplace_back("p99 of the steps");
  for (const ReportPoint& p : points) {
    if (!p.is_good()) continue;
    const double usd = p.figure("usd_per_step");
    table.rows.push_back({fmt::format("{:g}", p.x), seconds_text(p.figure("step_time_s")),
                          fmt::format("{:.4f}", p.figure("step_time_s") / free_step(points)),
                          std::isfinite(usd) ? fmt::format("{:.4g}", usd) : ""});
    if (has_spread) table.rows.back().push_back(seconds_text(p.figure("step_time_p99_s")));
  }
  return table;
}

/// The scenario's own causes: the distribution of its steps and what each remedy saves.
void add_own_stragglers(const ReportRequest& request, const ReportBase& base, Page& page) {
  Scenario s = base.prepared.scenario;
  default_straggler_steps(s);
  const StragglerAnalysis a = analyse_stragglers(s, base.prepared.profile, request.engine);
  Chart chart;
  chart.title = "The scenario's steps, sorted";
  chart.x = {.title = "share of the steps that are faster (%)", .categories = {}};
  chart.y = {.title = "step (s)", .categories = {}};
  ChartSeries steps{.name = "with its stragglers", .x = {}, .y = a.step_s, .labels = {}};
  std::sort(steps.y.begin(), steps.y.end());
  for (std::size_t i = 0; i < steps.y.size(); ++i)
    steps.x.push_back(100.0 * (static_cast<double>(i) + 0.5) / static_cast<double>(steps.y.size()));
  ChartSeries ideal{.name = "without",
                    .x = {0, 100},
                    .y = {a.straggler_free_s, a.straggler_free_s},
                    .labels = {},
                    .is_dashed = true};
  chart.series = {std::move(steps), std::move(ideal)};
  page.charts.insert(page.charts.begin(), std::move(chart));

  PageTable table{"What would help", {"change", "mean step", "saves", "of the loss"}, {}};
  const double lost = a.mean_s - a.straggler_free_s;
  for (const auto* list : {&a.causes, &a.nodes, &a.stages, &a.remedies})
    for (const StragglerRemedy& r : *list)
      table.rows.push_back(
          {r.what, seconds_text(r.step_s), seconds_text(a.mean_s - r.step_s),
           lost > 1e-12 * a.mean_s ? percent_text((a.mean_s - r.step_s) / lost) : ""});
  page.tables.insert(page.tables.begin(), std::move(table));
  page.headline = fmt::format(
      "The scenario's stragglers make the mean step {} instead of {} ({:.3f} x, {} steps). ",
      seconds_text(a.mean_s), seconds_text(a.straggler_free_s), a.mean_s / a.straggler_free_s,
      a.step_s.size());
  const StragglerRemedy* best = nullptr;
  for (const auto* list : {&a.causes, &a.nodes, &a.stages, &a.remedies})
    for (const StragglerRemedy& r : *list)
      if (best == nullptr || r.step_s < best->step_s) best = &r;
  if (best != nullptr)
    page.headline += fmt::format("What saves most: {} ({} per step).", best->what,
                                 seconds_text(a.mean_s - best->step_s));
}

std::string general_headline(int node, const std::vector<ReportPoint>& slow,
                             const std::vector<ReportPoint>& jitter) {
  const auto ratio = [](const std::vector<ReportPoint>& points, double x) {
    for (const ReportPoint& p : points)
      if (p.x == x) return p.figure("step_time_s") / free_step(points);
    return static_cast<double>(NAN);
  };
  return fmt::format(
      "If node {}, the busiest, is 10 % slow every step is {:.1f} % longer, at half speed {:.0f} "
      "%. "
      "Jitter of 5 % in every pass of every rank costs {:.1f} %.",
      node, 100 * (ratio(slow, 1.1) - 1), 100 * (ratio(slow, 2.0) - 1),
      100 * (ratio(jitter, 0.05) - 1));
}
}  // namespace

Page stragglers_report(const ReportRequest& request) {
  const ReportBase base = report_base(request);
  const Scenario& s = base.prepared.scenario;
  std::vector<ReportPoint> slow = slow_node_points(base.busiest_node), jitter = jitter_points(s);
  std::vector<ReportPoint> all = slow;
  all.insert(all.end(), jitter.begin(), jitter.end());
  simulate_points(request, all);
  std::copy_n(all.begin(), slow.size(), slow.begin());
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(slow.size()), jitter.size(),
              jitter.begin());

  Page page;
  page.title = "What stragglers cost: " + s.model.name;
  page.headline = general_headline(base.busiest_node, slow, jitter);
  page.charts = {
      slowdown_chart(slow, "One slow node",
                     fmt::format("compute time of node {} / its normal", base.busiest_node), true),
      slowdown_chart(jitter, "Jitter on every rank", "sigma of the lognormal factor on each pass",
                     false)};
  page.tables = {table_of(slow, "One slow node", "factor"),
                 table_of(jitter, "Jitter on every rank", "sigma")};
  if (!s.stragglers.empty() && s.sync.is_lockstep()) add_own_stragglers(request, base, page);
  add_refused(all, page);
  add_provenance(request, base, "stragglers", page);
  page.assumptions.push_back(fmt::format(
      "Slow node: compute of all ranks on node {}, whose GPUs work longest in a step; a node with "
      "idle time costs less. Jitter: a fresh factor of mean 1 for every pass, {} steps a level.",
      base.busiest_node, std::max(kSteps, s.run.steps)));
  return page;
}
}  // namespace stepcast
