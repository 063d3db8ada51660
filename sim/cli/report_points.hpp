#pragma once
#include <string>
#include <vector>

#include "sim/cli/sweep_point.hpp"
#include "sim/io/json.hpp"
#include "sim/report/page/page.hpp"
#include "sim/report/report.hpp"

namespace stepcast {
/// What a trade-off report is asked for.
struct ReportRequest {
  ScenarioArguments what;
  EngineKind engine = EngineKind::native;
  int jobs = 1;
  std::vector<int> nodes;  // scaling: the cluster sizes; empty: doubled from the smallest
};
/// A variant of the scenario with what came out of it.
struct ReportPoint {
  std::string name;
  double x = 0;
  std::vector<std::string> settings;
  PointFigures result;

  bool is_good() const { return result.status == "ok"; }
  /// NaN where the point has no such figure.
  double figure(const std::string& column) const;
};
/// Simulates every point in processes of their own. Throws EnvironmentError when one is killed or
/// the run is interrupted, InputError when all points are refused.
void simulate_points(const ReportRequest& request, std::vector<ReportPoint>& points);

/// The scenario itself: one simulation, its report and what a page says about provenance.
struct ReportBase {
  Prepared prepared;
  Json report;
  int busiest_node = 0;  // whose GPUs work longest in a step: there slowness costs most
};
ReportBase report_base(const ReportRequest& request);
/// Fills in subtitle, assumptions (profile, engine, defaults, extrapolations, warnings), the
/// command and the input files.
void add_provenance(const ReportRequest& request, const ReportBase& base, const std::string& kind,
                    Page& page);
/// Points that the scenario's rules refuse, as a table with their reasons; nothing where none is.
void add_refused(const std::vector<ReportPoint>& points, Page& page);

/// A bar for each point whose parts are the step's categories, in the report's order; what is
/// nowhere above a hundredth of a step joins "other". Amounts are seconds, or per cent of the step.
BarChart breakdown_bars(const std::vector<ReportPoint>& points, const ReportBase& base,
                        bool is_share);

/// "12.3 s", "45.6 ms"; "1.23 M"; "" for NaN.
std::string seconds_text(double seconds);
std::string rate_text(double per_second);
std::string percent_text(double share);
/// tokens_per_s for models with tokens, else samples_per_s; and its name.
std::string rate_column(const ReportBase& base);
std::string rate_name(const ReportBase& base);

Page scaling_report(const ReportRequest& request);
Page stragglers_report(const ReportRequest& request);
Page compression_report(const ReportRequest& request);
Page strategies_report(const ReportRequest& request);
}  // namespace stepcast
