#include "sim/cli/converge_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/robust_stats.hpp"
#include "sim/io/json.hpp"
#include "sim/report/chart/chart.hpp"

namespace stepcast {
namespace {
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json interval_json(const runtime::Interval& interval, double factor = 1) {
  return {{"p05", finite(interval.low * factor)},
          {"p50", finite(interval.middle * factor)},
          {"p95", finite(interval.high * factor)}};
}

std::string interval_text(const Json& interval, int digits) {
  const auto one = [&](const char* key) {
    return interval[key].is_null() ? std::string("never")
                                   : fmt::format("{:.{}f}", interval[key].get<double>(), digits);
  };
  return fmt::format("{} ({} .. {})", one("p50"), one("p05"), one("p95"));
}
std::string seconds_text(const Json& interval) {
  if (interval["p50"].is_null()) return "not reached";
  const double s = interval["p50"].get<double>();
  const auto scaled = [&](double value) {
    return s < 1     ? fmt::format("{:.1f} ms", value * 1e3)
           : s < 600 ? fmt::format("{:.2f} s", value)
                     : fmt::format("{:.2f} h", value / 3600);
  };
  return scaled(s) + " (" + scaled(interval["p05"].get<double>()) + " .. " +
         (interval["p95"].is_null() ? "never" : scaled(interval["p95"].get<double>())) + ")";
}
std::string name_of(const ConvergePoint& point) {
  return point.name.empty() ? "scenario" : point.name;
}
}  // namespace

Json converge_json(const std::string& file, const runtime::LearningTask& task,
                   const std::vector<ConvergePoint>& points,
                   const std::vector<runtime::StudyResult>& results) {
  Json list = Json::array();
  for (const ConvergePoint& point : points) {
    const runtime::StudyResult& r = results[point.result];
    const runtime::StudyResult& plain = results[point.plain];
    const runtime::TrainingSetup& t = point.plan.training;
    list.push_back(
        {{"name", name_of(point)},
         {"synchronisation", point.plan.synchronisation},
         {"compression", point.plan.compression},
         {"workers", t.order.workers},
         {"samples_per_step", point.plan.samples_per_step},
         {"step_time_s", point.plan.step_s},
         {"seeds", r.runs.size()},
         {"reached", r.reached},
         {"diverged", r.diverged},
         {"steps_to_target", interval_json(r.steps_to_target)},
         {"time_to_target_s", interval_json(r.steps_to_target, point.plan.step_s)},
         {"plain_bsp_steps_to_target", interval_json(plain.steps_to_target)},
         {"final_loss", interval_json(r.final_loss)},
         {"target_loss", t.spec.target_loss.value_or(task.target_loss)},
         {"mean_staleness", r.runs.front().mean_staleness},
         {"bytes_per_worker_and_step", r.runs.front().bytes_per_step},
         {"gradient_noise_scale",
          plain.gradient_noise_scale > 0 ? Json(plain.gradient_noise_scale) : Json(nullptr)},
         {"notes", point.plan.notes}});
  }
  const ConvergenceSpec& spec = points.front().plan.training.spec;
  return {{"stepcast", 1},
          {"kind", "convergence"},
          {"scenario", file},
          {"task", task.name},
          {"parameters", task.network.parameters()},
          {"start_loss", task.start_loss},
          {"floor_loss", task.floor_loss > 0 ? Json(task.floor_loss) : Json(nullptr)},
          {"optimizer", std::string(text_of(spec.optimizer))},
          {"rule", std::string(text_of(spec.rule))},
          {"most_steps", spec.steps},
          {"points", list}};
}

std::string converge_text(const Json& r) {
  std::string out = fmt::format(
      "{}: task {} ({} parameters), {}, learning rate {}, at most {} steps; held-out loss starts "
      "at {:.3f} nats\n\n",
      r["scenario"].get<std::string>(), r["task"].get<std::string>(), r["parameters"].get<int>(),
      r["optimizer"].get<std::string>(), r["rule"].get<std::string>(), r["most_steps"].get<int>(),
      r["start_loss"].get<double>());
  std::size_t width = 8;
  for (const Json& p : r["points"]) width = std::max(width, p["name"].get<std::string>().size());
  out += fmt::format("{:<{}}  {:>7}  {:>9}  {:>7}  {:<26}  {:<11}  {:>9}  {}\n", "setting", width,
                     "workers", "staleness", "reached", "steps to target (90 %)", "plain steps",
                     "s per step", "time to target (90 %)");
  for (const Json& p : r["points"]) {
    const Json& plain = p["plain_bsp_steps_to_target"]["p50"];
    out += fmt::format("{:<{}}  {:>7}  {:>9.1f}  {:>7}  {:<26}  {:<11}  {:>10.4g}  {}\n",
                       p["name"].get<std::string>(), width, p["workers"].get<int>(),
                       p["mean_staleness"].get<double>(),
                       fmt::format("{}/{}", p["reached"].get<int>(), p["seeds"].get<int>()),
                       interval_text(p["steps_to_target"], 0),
                       plain.is_null() ? "never" : fmt::format("{:.0f}", plain.get<double>()),
                       p["step_time_s"].get<double>(), seconds_text(p["time_to_target_s"]));
  }
  out += "\n";
  for (const Json& p : r["points"]) {
    if (p["diverged"].get<int>() > 0)
      out += fmt::format("{}: {} of {} seeds diverged\n", p["name"].get<std::string>(),
                         p["diverged"].get<int>(), p["seeds"].get<int>());
    for (const Json& note : p["notes"])
      out += fmt::format("{}: {}\n", p["name"].get<std::string>(), note.get<std::string>());
  }
  const Json& noise = r["points"].front()["gradient_noise_scale"];
  if (!noise.is_null())
    out += fmt::format(
        "critical batch of this task (gradient noise scale): about {:.0f} samples; {} of a step "
        "here\n",
        noise.get<double>(), r["points"].front()["samples_per_step"].get<double>());
  out +=
      "steps were measured by training this task; they carry over to other models as ratios at "
      "best\n";
  return out;
}

std::string curves_csv(const std::vector<ConvergePoint>& points,
                       const std::vector<runtime::StudyResult>& results) {
  std::string out = "point,seed,step,held_out_loss\n";
  for (const ConvergePoint& point : points)
    for (std::size_t seed = 0; seed < results[point.result].runs.size(); ++seed)
      for (const runtime::LossPoint& look : results[point.result].runs[seed].curve)
        out += fmt::format("\"{}\",{},{:g},{:.6g}\n", name_of(point), seed, look.step, look.loss);
  return out;
}

void write_curves_chart(const std::string& path, const std::string& title,
                        const runtime::LearningTask& task, const std::vector<ConvergePoint>& points,
                        const std::vector<runtime::StudyResult>& results) {
  Chart chart{.title = title,
              .subtitle = "median over seeds; task " + task.name,
              .x = {.title = "steps of the global batch"},
              .y = {.title = "held-out loss (nats per sample)"}};
  double most = 0;
  for (const ConvergePoint& point : points) {
    const auto& runs = results[point.result].runs;
    ChartSeries line{.name = name_of(point)};
    for (std::size_t look = 0;; ++look) {
      std::vector<double> losses;
      double step = 0;
      for (const auto& run : runs)
        if (look < run.curve.size()) {
          losses.push_back(run.curve[look].loss);
          step = run.curve[look].step;
        }
      if (losses.size() < runs.size() || losses.empty()) break;
      line.x.push_back(step);
      line.y.push_back(median(losses));
      most = std::max(most, step);
    }
    chart.series.push_back(std::move(line));
  }
  const double target = points.front().plan.training.spec.target_loss.value_or(task.target_loss);
  chart.series.push_back(
      {.name = "target", .x = {0, most}, .y = {target, target}, .is_dashed = true});
  write_chart(chart, path);
}
}  // namespace stepcast
