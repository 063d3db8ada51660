#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "sim/core/assert.hpp"
#include "sim/io/json.hpp"
#include "sim/report/data_report.hpp"
#include "sim/report/report.hpp"
#include "sim/report/tradeoffs_json.hpp"

namespace stepcast {
namespace {
constexpr double kGiB = 1073741824.0;
constexpr double kQuantile05 = 1.6448536269514722;  // standard normal, 5 % from the end

/// Quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan).
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

struct StepTime {
  double p05, p50, p95, mean;
};
/// Of replicas out of lockstep, which have no common step: per global batch; the mean counts their
/// samples over the run.
StepTime step_time_of(const Forecast& forecast, double batch) {
  std::vector<double> times = forecast.step_times;
  if (times.empty()) times.push_back(forecast.outcome.step_s);
  std::sort(times.begin(), times.end());
  const double p50 = quantile(times, 0.5);
  const double calibration = kQuantile05 * forecast.relative_sigma * p50;
  const bool is_counted = forecast.sync && forecast.sync->samples_per_s > 0;
  return {.p05 = std::max(0.0, p50 - std::hypot(p50 - quantile(times, 0.05), calibration)),
          .p50 = p50,
          .p95 = p50 + std::hypot(quantile(times, 0.95) - p50, calibration),
          .mean = is_counted ? batch / forecast.sync->samples_per_s
                             : std::accumulate(times.begin(), times.end(), 0.0) /
                                   static_cast<double>(times.size())};
}

Json breakdown_json(const Breakdown& breakdown) {
  Json out = Json::object();
  for (const auto& [category, name] : EnumText<Category>::table)
    out[std::string(name)] = breakdown[static_cast<std::size_t>(category)];
  return out;
}

/// FLOP that all ranks of one step spend on recomputation. HFU adds them to the model's FLOPs
/// (Korthikanti 2022, section 6.3; PaLM, appendix B): it equals MFU where nothing is recomputed.
double recompute_flops(const Scenario& s, const ModelWork& work) {
  const auto flops_of = [&](const std::vector<int>& kinds) {
    double flops = 0;
    for (const int kind : kinds)
      for (const Op& op : work.kinds[static_cast<std::size_t>(kind)].recompute)
        flops += op.flops.value;
    return flops;
  };
  const double per_rank = flops_of(work.before) + flops_of(work.blocks) + flops_of(work.after);
  return per_rank * s.parallel.tp * s.parallel.cp * s.parallel.dp *
         static_cast<double>(micro_batch_count(s.parallel, s.training));
}

/// Dense peak of the ranks that work, at the training's precision.
double peak_flops(const Scenario& s) {
  double all = 0, gpus = 0;
  for (const NodeGroup& group : s.cluster.groups) {
    const double count = static_cast<double>(group.count) * group.spec.gpus;
    all += count * group.spec.gpu.peak(s.training.precision).value;
    gpus += count;
  }
  return gpus > 0 ? all / gpus * s.parallel.world() : 0;
}

Json memory_json(const Scenario& s, const std::vector<StageMemory>& stages, bool& fits) {
  double capacity = 0;
  for (const NodeGroup& group : s.cluster.groups) {
    const auto memory = static_cast<double>(group.spec.gpu.memory.value);
    capacity = capacity == 0 ? memory : std::min(capacity, memory);
  }
  Json list = Json::array();
  double worst = 0;
  for (const StageMemory& m : stages) {
    list.push_back({{"stage", m.stage},
                    {"parameters", m.parameters / kGiB},
                    {"gradients", m.gradients / kGiB},
                    {"optimizer", m.optimizer / kGiB},
                    {"activations", m.activations / kGiB},
                    {"buffers", m.buffers / kGiB},
                    {"total", m.total / kGiB}});
    worst = std::max(worst, m.total);
  }
  fits = worst <= capacity;
  return {
      {"per_stage", list}, {"worst", worst / kGiB}, {"capacity", capacity / kGiB}, {"fits", fits}};
}

Json network_json(const StepOutcome& outcome) {
  Json links = Json::array();
  for (const LinkLoad& link : outcome.busiest)
    links.push_back({{"name", link.name},
                     {"bytes", link.bytes},
                     {"capacity_GBps", link.capacity / 1e9},
                     {"utilisation", link.utilisation}});
  Json groups = Json::object();
  for (const auto& [kind, name] : EnumText<GroupKind>::table)
    if (const double bytes = outcome.payload_bytes[static_cast<std::size_t>(kind)]; bytes > 0)
      groups[std::string(name)] = bytes;
  return {{"busiest_links", links}, {"bytes_by_group", groups}};
}

/// Rent of the nodes, where the cluster states a price for each of them.
Json money_json(const Scenario& s, double step_s, double tokens_per_step) {
  double per_hour = 0;
  for (const NodeGroup& group : s.cluster.groups) {
    if (group.spec.usd_per_hour <= 0) return nullptr;
    per_hour += group.spec.usd_per_hour * group.count;
  }
  const double per_step = per_hour / 3600 * step_s;
  Json out{{"usd_per_hour", per_hour}, {"usd_per_step", per_step}};
  if (tokens_per_step > 0) out["usd_per_billion_tokens"] = per_step / tokens_per_step * 1e9;
  return out;
}

Json scenario_json(const Scenario& s) {
  const ParallelLayout& p = s.parallel;
  return {{"file", s.file},
          {"name", s.name},
          {"model", s.model.name},
          {"parameters", parameter_count(s.model)},
          {"cluster", s.cluster.name},
          {"nodes", s.cluster.nodes()},
          {"gpus", p.world()},
          {"tp", p.tp},
          {"pp", p.pp},
          {"dp", p.dp},
          {"cp", p.cp},
          {"ep", p.ep},
          {"zero_stage", p.zero_stage},
          {"schedule", std::string(text_of(p.schedule))},
          {"virtual_stages", p.virtual_stages},
          {"global_batch", s.training.global_batch},
          {"micro_batch", s.training.micro_batch},
          {"micro_batches", micro_batch_count(p, s.training)},
          {"sequence_length", s.training.sequence_length},
          {"precision", std::string(text_of(s.training.precision))},
          {"strategy", s.strategy.preset}};
}
}  // namespace

std::string version() { return STEPCAST_VERSION; }

Json report_json(const Scenario& s, const Profile& profile, const Forecast& forecast,
                 const RunFacts& facts) {
  const double sum =
      std::accumulate(forecast.outcome.breakdown.begin(), forecast.outcome.breakdown.end(), 0.0);
  STEPCAST_ASSERT(
      std::abs(sum - forecast.outcome.step_s) <= 1e-9 * std::abs(forecast.outcome.step_s),
      "each moment of the critical rank has one owner");
  const auto batch = static_cast<double>(s.training.global_batch);
  const StepTime time = step_time_of(forecast, batch);
  const bool has_tokens = s.model.kind == ModelKind::transformer || s.model.kind == ModelKind::moe;
  const double tokens = has_tokens ? batch * static_cast<double>(s.training.sequence_length) : 0;
  const double peak = peak_flops(s);
  bool fits = true;

  Json report{{"stepcast", 1}, {"kind", "step"}, {"scenario", scenario_json(s)}};
  report["step_time_s"] = {
      {"p05", time.p05}, {"p50", time.p50}, {"p95", time.p95}, {"mean", time.mean}};
  report["breakdown_s"] = breakdown_json(forecast.outcome.breakdown);
  report["breakdown_of_step_s"] = forecast.outcome.step_s;
  // A run of many steps takes their mean, whatever the usual one takes: a pause in every fourth
  // step moves no median.
  const double pace_s = time.mean;
  report["tokens_per_s"] = has_tokens ? Json(tokens / pace_s) : Json(nullptr);
  report["samples_per_s"] = batch / pace_s;
  const double model_flops = forecast.work.model_flops_per_sample.value * batch;
  report["model_flops_utilization"] =
      peak > 0 ? Json(model_flops / (pace_s * peak)) : Json(nullptr);
  const double executed_flops = model_flops + recompute_flops(s, forecast.work);
  report["hardware_flops_utilization"] =
      peak > 0 ? Json(executed_flops / (pace_s * peak)) : Json(nullptr);
  report["step_distribution_s"] = distribution_json(forecast.step_times);
  report["stragglers"] = stragglers_json(s, forecast, time.mean);
  report["synchronisation"] = synchronisation_json(s, forecast);
  if (Json data = data_json(s, forecast); !data.is_null()) report["data"] = std::move(data);
  report["model_TFLOP_per_s_per_gpu"] = model_flops / pace_s / s.parallel.world() / 1e12;
  report["host_bound_share"] = forecast.host_bound_share;
  report["memory_GiB"] = memory_json(s, forecast.memory, fits);
  report["network"] = network_json(forecast.outcome);
  report["money"] = money_json(s, pace_s, tokens);
  report["extrapolated"] = Json::array();
  for (const Extrapolation& e : forecast.extrapolated)
    report["extrapolated"].push_back({{"what", e.what},
                                      {"nearest_measured", e.nearest_measured},
                                      {"share_of_step", e.share_of_step}});
  report["warnings"] = Json::array();
  if (!fits) {
    const Json& m = report["memory_GiB"];
    report["warnings"].push_back(
        fmt::format("does not fit: the fullest stage needs {:.1f} GiB of {:.1f} GiB",
                    m["worst"].get<double>(), m["capacity"].get<double>()));
  }
  for (const std::string& warning : forecast.warnings) report["warnings"].push_back(warning);
  std::set<std::string> other_gpus;
  for (const NodeGroup& group : s.cluster.groups)
    if (group.spec.gpu.name != profile.gpu.name) other_gpus.insert(group.spec.gpu.name);
  for (const std::string& gpu : other_gpus)
    report["warnings"].push_back(
        fmt::format("profile {} is of {}: its utilisation stands in for that of {}", profile.name,
                    profile.gpu.name, gpu));
  for (const std::string& part : profile.datasheet_only)
    report["warnings"].push_back("profile " + profile.name + " rests on datasheet values for " +
                                 part);
  report["notes"] = s.notes;
  report["provenance"] = {{"profile", profile.name},
                          {"profile_sources", profile.sources},
                          {"seed", s.run.seed},
                          {"version", version()},
                          {"engine", std::string(text_of(facts.engine))}};
  report["simulation"] = {{"wall_s", facts.wall_s},
                          {"peak_rss_MiB", facts.peak_rss_MiB},
                          {"events", forecast.outcome.events},
                          {"steps", forecast.step_times.size()},
                          {"simulated_workers", forecast.simulated_workers},
                          {"folded", forecast.is_folded}};
  return report;
}
}  // namespace stepcast
