#include "sim/cli/report_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/cli/progress.hpp"
#include "sim/cli/worker_pool.hpp"
#include "sim/io/files.hpp"
#include "sim/launch/quoting.hpp"
#include "sim/scenario/source_files.hpp"

namespace stepcast {

double ReportPoint::figure(const std::string& column) const {
  const auto at = result.figures.find(column);
  return at == result.figures.end() ? NAN : std::strtod(at->second.c_str(), nullptr);
}

void simulate_points(const ReportRequest& request, std::vector<ReportPoint>& points) {
  std::vector<std::size_t> tasks(points.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i] = i;
  Progress progress(points.size(), 0);
  std::string death;
  const bool is_complete = run_in_processes(
      tasks, request.jobs,
      [&](std::size_t i) {
        return simulated_point(request.what, request.engine, points[i].settings);
      },
      [&](const WorkerAnswer& answer) {
        progress.step();
        if (answer.death.empty())
          points[answer.task].result = point_figures(answer.text);
        else
          death = points[answer.task].name + ": the simulation " + answer.death;
      });
  progress.finish();
  if (!is_complete) throw EnvironmentError("stopped before the report was complete");
  if (!death.empty()) throw EnvironmentError(death);
  if (std::none_of(points.begin(), points.end(), [](const auto& p) { return p.is_good(); }))
    throw InputError(
        Problem{request.what.path(), "",
                "no point of the report can be simulated: " + points.front().result.status, ""});
}

ReportBase report_base(const ReportRequest& request) {
  ReportBase base{prepared(request.what), {}};
  const Scenario& s = base.prepared.scenario;
  if (s.collective_sweep)
    throw InputError(Problem{s.file, "/collective", "a sweep of sizes has no step to report on",
                             "use stepcast simulate"});
  SimulateOptions options{.engine = request.engine, .execute = {}, .on_first_step = {}};
  options.on_first_step = [&](const Job& job, const StepOutcome& step) {
    double longest = -1;
    for (std::size_t w = 0; w < job.workers.size(); ++w)
      if (const double busy = step.per_worker[w][static_cast<std::size_t>(Category::compute)];
          busy > longest) {
        longest = busy;
        base.busiest_node = job.workers[w].node;
      }
  };
  const Forecast forecast = simulate(s, base.prepared.profile, options);
  base.report = report_json(s, base.prepared.profile, forecast, {.engine = request.engine});
  return base;
}

namespace {
std::string command_of(const ReportRequest& request, const std::string& kind) {
  std::vector<std::string> words{"stepcast", "report", kind, request.what.scenario};
  for (const std::string& setting : request.what.all_settings()) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  words.emplace_back("--engine");
  words.emplace_back(text_of(request.engine));
  if (!request.nodes.empty()) {
    std::string list;
    for (const int n : request.nodes) list += (list.empty() ? "" : ",") + std::to_string(n);
    words.insert(words.end(), {"--nodes", list});
  }
  words.insert(words.end(), {"-o", kind + ".html"});
  return launch::shell_words(words);
}
}  // namespace

void add_provenance(const ReportRequest& request, const ReportBase& base, const std::string& kind,
                    Page& page) {
  const Scenario& s = base.prepared.scenario;
  page.subtitle = fmt::format(
      "{} on {} nodes of {} ({} GPUs): tp {}, pp {}, dp {}, cp {}, ZeRO stage {}, {}; a forecast "
      "by stepcast {}",
      s.model.name, s.cluster.nodes(), s.cluster.name, s.cluster.gpus(), s.parallel.tp,
      s.parallel.pp, s.parallel.dp, s.parallel.cp, s.parallel.zero_stage, s.strategy.preset,
      version());
  auto& lines = page.assumptions;
  lines.push_back(fmt::format(
      "Every point is a simulation of one scenario (engine {}, seed {}); nothing was measured on "
      "this cluster. Kernels and collectives come from profile {}.",
      text_of(request.engine), s.run.seed, base.prepared.profile.name));
  lines.emplace_back("Step times are medians; p05 and p95 join calibration and run-to-run spread.");
  for (const std::string& note : s.notes) lines.push_back("Default: " + note);
  for (const Json& e : base.report["extrapolated"])
    lines.push_back(
        fmt::format("Outside the measured range: {} ({:.1f} % of the step; nearest: "
                    "{})",
                    e["what"].get<std::string>(), 100 * e["share_of_step"].get<double>(),
                    e["nearest_measured"].get<std::string>()));
  for (const Json& w : base.report["warnings"]) lines.push_back("Warning: " + w.get<std::string>());
  page.command = command_of(request, kind);
  const std::string bundled = scenarios_folder();
  for (const std::string& file : source_files(request.what.path(), request.what.all_settings()))
    if (file == request.what.path() || !file.starts_with(bundled))
      if (const auto content = read_file(file))
        page.inputs.emplace_back(file.substr(file.rfind('/') + 1), *content);
}

void add_refused(const std::vector<ReportPoint>& points, Page& page) {
  PageTable table{"Not simulated", {"variant", "why"}, {}};
  for (const ReportPoint& p : points)
    if (!p.is_good()) table.rows.push_back({p.name, p.result.status});
  if (!table.rows.empty()) page.tables.push_back(std::move(table));
}

BarChart breakdown_bars(const std::vector<ReportPoint>& points, const ReportBase& base,
                        bool is_share) {
  constexpr double kLeastShare = 0.01;  // of a step: less is no more than a line in a bar
  BarChart chart;
  BarChart::Part rest{"other", std::vector<double>(points.size(), 0)};
  for (const auto& [category, ignored] : base.report["breakdown_s"].items()) {
    BarChart::Part part{category, {}};
    double most = 0;
    for (const ReportPoint& p : points) {
      const double seconds = p.figure(category + "_s"), step = p.figure("step_time_s");
      const double share = std::isfinite(seconds) ? seconds / step : 0;
      most = std::max(most, share);
      part.amounts.push_back(share * step);
    }
    if (most > kLeastShare && category != "other")
      chart.parts.push_back(std::move(part));
    else
      for (std::size_t i = 0; i < points.size(); ++i) rest.amounts[i] += part.amounts[i];
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    double owned = rest.amounts[i];
    for (const BarChart::Part& part : chart.parts) owned += part.amounts[i];
    // Replicas out of lockstep have steps without owners.
    rest.amounts[i] += std::max(0.0, points[i].figure("step_time_s") - owned);
  }
  chart.parts.push_back(std::move(rest));
  for (std::size_t i = 0; is_share && i < points.size(); ++i) {
    double all = 0;  // the printed step, rounded, would leave the bars short of or past 100 %
    for (const BarChart::Part& part : chart.parts) all += part.amounts[i];
    for (BarChart::Part& part : chart.parts) part.amounts[i] *= 100 / all;
  }
  chart.axis = is_share ? "share of the critical rank's step (%)" : "time of the critical rank (s)";
  for (const ReportPoint& p : points) {
    chart.rows.push_back(p.name);
    chart.labels.push_back(seconds_text(p.figure("step_time_s")));
  }
  return chart;
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "";
  return seconds < 1 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}
std::string rate_text(double per_second) {
  if (!std::isfinite(per_second)) return "";
  return per_second >= 1e6   ? fmt::format("{:.4g} M", per_second / 1e6)
         : per_second >= 1e3 ? fmt::format("{:.4g} k", per_second / 1e3)
                             : fmt::format("{:.4g}", per_second);
}
std::string percent_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "";
}
std::string rate_column(const ReportBase& base) {
  return base.report["tokens_per_s"].is_number() ? "tokens_per_s" : "samples_per_s";
}
std::string rate_name(const ReportBase& base) {
  return rate_column(base) == "tokens_per_s" ? "tokens/s" : "samples/s";
}
}  // namespace stepcast
