#include "sim/validate/engine_predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/robust_stats.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

/// 1.645 standard deviations of a normal hold 90 % between them; errors of a time are taken as
/// log-normal.
constexpr double kNormal90 = 1.645;
/// Memory has no noise; the interval is the accuracy the memory model is held to.
constexpr double kMemorySigma = 0.02;

Estimate spread(double value, double sigma) {
  return {value, value * std::exp(-kNormal90 * sigma), value * std::exp(kNormal90 * sigma)};
}

/// The first problem, without the row's own file name, so that equal reasons count together.
std::string first_problem(const Problems& problems) {
  const Problem& p = problems.list().front();
  const std::string more =
      problems.size() > 1 ? fmt::format(" (and {} more)", problems.size() - 1) : "";
  return fmt::format("the scenario is refused: {}{}{}{}", p.place, p.place.empty() ? "" : ": ",
                     p.message, more);
}

double peak_memory(const Forecast& forecast) {
  double peak = 0;
  for (const StageMemory& stage : forecast.memory) peak = std::max(peak, stage.total);
  return peak;
}

Estimate step_estimate(const Forecast& forecast) {
  const double sigma = std::max(forecast.relative_sigma, 0.0);
  if (forecast.step_times.size() < 2) return spread(forecast.outcome.step_s, sigma);
  Estimate e = spread(mean(forecast.step_times), sigma);
  e.p05 = std::min(e.p05, quantile(forecast.step_times, 0.05));
  e.p95 = std::max(e.p95, quantile(forecast.step_times, 0.95));
  return e;
}

class EnginePredictor : public Predictor {
 public:
  EnginePredictor(EngineKind engine, std::string profile)
      : engine_(engine), profile_(std::move(profile)) {}

  Answer answer(const Question& question) override {
    try {
      if (const auto* step = std::get_if<StepQuestion>(&question.what))
        return answer_step(*step, question);
      if (const auto* sweep = std::get_if<CollectiveQuestion>(&question.what))
        return answer_sweep(*sweep, question);
      return answer_kernels(std::get<KernelQuestion>(question.what), question);
    } catch (const InputError& error) {
      return {{}, first_problem(error.problems), ""};
    } catch (const InternalError& error) {
      return {{}, fmt::format("our fault: {}", error.what()), ""};
    }
  }

 private:
  Scenario scenario_of_text(const std::string& text, const std::string& origin,
                            std::int64_t micro_batch = 0) {
    Json document = Json::parse(text);
    if (micro_batch > 0) document["training"]["micro_batch"] = micro_batch;
    if (!profile_.empty()) document["profile"] = profile_;
    return scenario_of(std::move(document), origin).value_or_throw();
  }

  const Profile& profile_for(const Scenario& scenario) {
    const std::string key = scenario.profile + "|" + scenario.cluster.groups.front().spec.gpu.name;
    auto it = profiles_.find(key);
    if (it == profiles_.end())
      it = profiles_.emplace(key, profile_of(scenario).value_or_throw()).first;
    return it->second;
  }

  Forecast forecast_of(const Scenario& scenario) {
    return simulate(scenario, profile_for(scenario),
                    SimulateOptions{.engine = engine_, .execute = {}});
  }

  Answer answer_step(const StepQuestion& step, const Question& question) {
    Answer answer;
    std::vector<std::int64_t> candidates = step.micro_batches;
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    if (candidates.empty()) candidates.push_back(0);  // the scenario states it
    std::optional<Forecast> forecast;
    double allocated = 0;  // tables state what the allocator holds
    for (const std::int64_t micro_batch : candidates) {
      const Scenario scenario = scenario_of_text(step.scenario, question.origin, micro_batch);
      forecast = forecast_of(scenario);
      allocated = peak_memory(*forecast) - context_bytes(profile_for(scenario));
      if (micro_batch > 0) answer.note = fmt::format("micro-batch {}", micro_batch);
      const bool fits = peak_memory(*forecast) <=
                        static_cast<double>(scenario.cluster.groups.front().spec.gpu.memory.value);
      if (fits) break;
      if (micro_batch == candidates.back())
        answer.note += answer.note.empty() ? "" : ", over memory by our account";
    }
    for (const Measure& measure : question.measures)
      answer.estimates.push_back(measure.metric == Metric::peak_memory
                                     ? spread(allocated, kMemorySigma)
                                     : step_estimate(*forecast));
    return answer;
  }

  Answer answer_sweep(const CollectiveQuestion& sweep, const Question& question) {
    const Scenario scenario = scenario_of_text(sweep.scenario, question.origin);
    const Profile& profile = profile_for(scenario);
    const auto points = simulate_collectives(scenario, profile, engine_);
    Answer answer;
    for (const Measure& measure : question.measures)
      answer.estimates.push_back(
          spread(points.at(measure.item).time_s, points.at(measure.item).relative_sigma));
    return answer;
  }

  Answer answer_kernels(const KernelQuestion& kernels, const Question& question) {
    auto it = cost_models_.find(kernels.gpu);
    if (it == cost_models_.end()) {
      const bool is_path =
          kernels.gpu.find('/') != std::string::npos || kernels.gpu.ends_with(".json");
      const std::string path = is_path ? kernels.gpu : preset_path("profiles", kernels.gpu);
      const Profile profile = read_profile(path).value_or_throw();
      CostOptions options;
      options.is_burst = true;
      it = cost_models_
               .emplace(kernels.gpu, std::make_unique<CostModel>(profile, profile.gpu, options))
               .first;
    }
    Answer answer;
    for (const Measure& measure : question.measures) {
      const OpCost cost = it->second->cost(kernels.ops.at(measure.item));
      answer.estimates.push_back(spread(cost.duration.value, cost.relative_sigma));
    }
    return answer;
  }

  EngineKind engine_;
  std::string profile_;
  std::map<std::string, Profile> profiles_;
  std::map<std::string, std::unique_ptr<CostModel>> cost_models_;
};
}  // namespace

std::unique_ptr<Predictor> make_engine_predictor(EngineKind engine, const std::string& profile) {
  return std::make_unique<EnginePredictor>(engine, profile);
}
}  // namespace stepcast
