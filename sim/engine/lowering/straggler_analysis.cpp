// What stragglers cost and what helps, by simulating the same steps again without parts of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/core/assert.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/engine/lowering/step_series.hpp"

namespace stepcast {
namespace {
/// Most nodes and stages that are looked at one by one: each is a whole series of steps.
constexpr std::size_t kMostNodes = 8, kMostStages = 16;

class Analysis {
 public:
  Analysis(const Scenario& scenario, const Profile& profile, EngineKind engine)
      : scenario_(scenario),
        profile_(profile),
        engine_(engine),
        work_(model_work(scenario.model, scenario.training, scenario.parallel)),
        graph_(build_step_graph(scenario, work_)),
        steps_(std::max(1, scenario.run.steps)) {}

  StragglerAnalysis run() {
    as_is();
    Scenario calm = scenario_;
    calm.stragglers.clear();
    calm.mitigation = {};
    out_.straggler_free_s = mean_step(calm, {});
    for (std::size_t i = 0; i < scenario_.stragglers.size(); ++i) {
      Scenario without = scenario_;
      without.stragglers[i] =
          {};  // keeps its place: the draws of the other causes are told apart by it
      out_.causes.push_back({fmt::format("without /stragglers/{}", i), mean_step(without, {})});
    }
    for (std::size_t i = 0; i < std::min(kMostNodes, suspects_.size()); ++i) {
      Exemptions exempt;
      exempt.nodes = {suspects_[i].second};
      out_.nodes.push_back(
          {fmt::format("node {} replaced", suspects_[i].second), mean_step(scenario_, exempt)});
    }
    const int stages = scenario_.parallel.pp;
    for (int stage = 0; stages > 1 && stage < stages && stage < static_cast<int>(kMostStages);
         ++stage) {
      Exemptions exempt;
      exempt.stages = {stage};
      out_.stages.push_back({fmt::format("stage {} healthy", stage), mean_step(scenario_, exempt)});
    }
    if (!suspects_.empty() && scenario_.cluster.nodes() > 1) {
      Exemptions exempt;
      exempt.nodes = {suspects_.front().second};
      exempt.evicted_without_spare = 1;
      out_.remedies.push_back(
          {fmt::format("node {} removed, the others take its samples", suspects_.front().second),
           mean_step(scenario_, exempt)});
    }
    if (scenario_.parallel.dp > 1 && !scenario_.mitigation.load_aware_batches &&
        scenario_.training.global_batch >= scenario_.parallel.dp) {
      Scenario balanced = scenario_;
      balanced.mitigation.load_aware_batches = true;
      out_.remedies.push_back(
          {"samples in proportion to each replica's speed", mean_step(balanced, {})});
    }
    return std::move(out_);
  }

 private:
  double mean_step(const Scenario& scenario, const Exemptions& exempt) {
    StepSeries series(scenario, graph_, profile_, exempt);
    std::vector<double> times;
    for (int step = 0; step < steps_ && (step == 0 || series.steps_differ()); ++step)
      times.push_back(series.next(engine_, {}).step_s);
    return mean(times);
  }
  void as_is() {
    StepSeries series(scenario_, graph_, profile_);
    std::map<int, int> critical;
    std::map<int, double> slowness;  // node -> worst worker's mean compute over its stage's median
    std::vector<double> compute(series.lowered().job.workers.size(), 0);
    for (int step = 0; step < steps_; ++step) {
      if (step > 0 && !series.steps_differ()) {
        out_.step_s.push_back(out_.step_s.back());
        continue;
      }
      const StepOutcome outcome = series.next(engine_, {});
      out_.step_s.push_back(outcome.step_s);
      const std::vector<Worker>& workers = series.lowered().job.workers;
      std::vector<double> busy;
      for (std::size_t w = 0; w < workers.size(); ++w) {
        busy.push_back(working_s(outcome.per_worker[w]));
        compute[w] += busy[w];
      }
      // The worker furthest above its stage's median held the step up.
      const std::vector<double> above = slowness_in_stage(workers, busy);
      const auto latest =
          static_cast<std::size_t>(std::max_element(above.begin(), above.end()) - above.begin());
      ++critical[workers[latest].node];
    }
    const std::vector<Worker>& workers = series.lowered().job.workers;
    const std::vector<double> above = slowness_in_stage(workers, compute);
    for (std::size_t w = 0; w < workers.size(); ++w)
      slowness[workers[w].node] = std::max(slowness[workers[w].node], above[w]);
    for (const StragglerSpec& cause : scenario_.stragglers)  // slow ports do not show in compute
      if (cause.link.bandwidth_factor < 1)
        for (int node = 0; node < scenario_.cluster.nodes(); ++node)
          if (names_node(cause, node) && !cause.nodes.empty())
            slowness[node] = std::max(slowness[node], 1 / cause.link.bandwidth_factor);
    for (const auto& [node, factor] : slowness) suspects_.emplace_back(-factor, node);
    std::sort(suspects_.begin(), suspects_.end());
    out_.mean_s = mean(out_.step_s);
    for (const auto& [node, steps] : critical) out_.critical_steps.emplace_back(node, steps);
    std::stable_sort(out_.critical_steps.begin(), out_.critical_steps.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
  }

  const Scenario& scenario_;
  const Profile& profile_;
  EngineKind engine_;
  ModelWork work_;
  StepGraph graph_;
  int steps_;
  std::vector<std::pair<double, int>> suspects_;  // -slowness, node
  StragglerAnalysis out_;
};
}  // namespace

StragglerAnalysis analyse_stragglers(const Scenario& scenario, const Profile& profile,
                                     EngineKind engine) {
  STEPCAST_ASSERT(scenario.sync.is_lockstep(), "the command refuses other modes");
  return Analysis(scenario, profile, engine).run();
}
}  // namespace stepcast
