#include "sim/engine/lowering/step_series.hpp"

#include <algorithm>
#include <map>

#include "sim/core/random.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/data/advice.hpp"

namespace stepcast {

double working_s(const Breakdown& breakdown) {
  double seconds = 0;
  for (const Category c :
       {Category::compute, Category::optimizer, Category::data_stall, Category::other})
    seconds += breakdown[static_cast<std::size_t>(c)];
  return seconds;
}

std::vector<double> slowness_in_stage(const std::vector<Worker>& workers,
                                      const std::vector<double>& seconds) {
  std::map<int, std::vector<double>> by_stage;
  for (std::size_t w = 0; w < workers.size(); ++w) by_stage[workers[w].stage].push_back(seconds[w]);
  std::map<int, double> usual;
  for (const auto& [stage, all] : by_stage) usual[stage] = median(all);
  std::vector<double> slowness;
  for (std::size_t w = 0; w < workers.size(); ++w)
    slowness.push_back(usual[workers[w].stage] > 0 ? seconds[w] / usual[workers[w].stage] : 0);
  return slowness;
}

StepSeries::StepSeries(const Scenario& scenario, const StepGraph& graph, const Profile& profile,
                       Exemptions exempt)
    : scenario_(scenario), graph_(&graph), profile_(profile), exempt_(std::move(exempt)) {
  lower_again();
  const std::vector<StragglerSpec>& causes = scenario_.stragglers;
  differs_ =
      scenario_.mitigation.evict.threshold > 0 ||
      std::any_of(causes.begin(), causes.end(), [](const StragglerSpec& c) { return c.varies(); });
  if (scenario_.data) {
    supply_ = std::make_unique<DataSupply>(supply_spec(*scenario_.data, lowered_.loaders));
    differs_ = differs_ || scenario_.data->storage.latency_sigma > 0;
  }
  for (const Worker& worker : lowered_.job.workers)
    loaders_.push_back(loaders_of(causes, scenario_.run.seed, worker.first_rank, worker.node));
}

void StepSeries::lower_again() {
  lowered_ = lower_with_doubts(scenario_, *graph_, profile_, exempt_);
  base_pause_.clear();
  base_capacity_.clear();
  for (const Worker& worker : lowered_.job.workers) base_pause_.push_back(worker.pause);
  for (const LinkSpec& link : lowered_.job.links) base_capacity_.push_back(link.capacity);
  work_s_.assign(lowered_.job.workers.size(), 0);
  window_ = 0;
}

void StepSeries::use_graph(const StepGraph& graph) {
  graph_ = &graph;
  lower_again();
}

void StepSeries::prepare() {
  Job& job = lowered_.job;
  job.seed = mixed_bits(scenario_.run.seed, static_cast<std::uint64_t>(step_));
  job.step = step_;
  job.clock_s = clock_s_;
  for (std::size_t w = 0; w < job.workers.size(); ++w) {
    Worker& worker = job.workers[w];
    const auto at = static_cast<std::size_t>(std::max(0, worker.disturbance));
    worker.pause =
        base_pause_[w] +
        (worker.disturbance >= 0 ? job.disturbances[at].pause_s(job.run_seed, step_) : 0);
    worker.data_wait = 0;
    const bool is_exempt =
        exempt_.nodes.contains(worker.node) || exempt_.stages.contains(worker.stage);
    for (StorageQueue& loader : loaders_[w])
      if (const double wait = loader.wait_s(clock_s_); !is_exempt)
        worker.data_wait = std::max(worker.data_wait, wait);
  }
  for (const StragglerSpec& cause : scenario_.stragglers) {
    if (cause.link.bandwidth_factor == 1 && cause.link.sigma == 0) continue;
    for (std::size_t node = 0; node < job.node_ports.size(); ++node) {
      if (!names_node(cause, static_cast<int>(node)) ||
          exempt_.nodes.contains(static_cast<int>(node)))
        continue;
      const double factor = link_factor(cause.link, job.run_seed, node, step_);
      for (const LinkId port : job.node_ports[node])
        job.links[port].capacity = job.links[port].capacity * factor;
    }
  }
}

StepOutcome StepSeries::next(EngineKind engine, const ExecuteOptions& options) {
  prepare();
  if (supply_ && step_ == 0) begin_loading(engine);
  ExecuteOptions with_loaders = options;
  with_loaders.supply = supply_.get();
  const std::unique_ptr<Network> network = make_network(engine);
  StepOutcome outcome = execute_step(lowered_.job, *network, with_loaders);
  for (std::size_t i = 0; i < base_capacity_.size(); ++i)
    lowered_.job.links[i].capacity = base_capacity_[i];
  clock_s_ += outcome.step_s;
  ++step_;
  judge(outcome);
  return outcome;
}

/// The run is looked at in its middle: the loaders have seen steps of this length before.
void StepSeries::begin_loading(EngineKind engine) {
  const std::unique_ptr<Network> network = make_network(engine);
  unstalled_s_ = execute_step(lowered_.job, *network, {}).step_s;
  supply_->settle_in(*unstalled_s_, lowered_.loaders.batches_per_step);
  // With this much to spare no queue runs empty and every step is the first again.
  constexpr double kAmple = 1.25;
  const std::vector<DataBound> bounds = data_bounds(*scenario_.data, lowered_.loaders);
  const double taken = *unstalled_s_ * (bounds.empty() ? 0 : bounds.front().samples_per_s);
  const double needed = lowered_.loaders.round_samples * lowered_.loaders.batches_per_step;
  if (!bounds.empty() && taken < kAmple * needed) differs_ = true;
}

/// What a monitor sees: time spent working, by worker, against the median of the same stage. One
/// node at a time is taken out.
void StepSeries::judge(const StepOutcome& outcome) {
  const EvictionSpec& rule = scenario_.mitigation.evict;
  if (rule.threshold <= 0) return;
  const std::vector<Worker>& workers = lowered_.job.workers;
  for (std::size_t w = 0; w < workers.size(); ++w) work_s_[w] += working_s(outcome.per_worker[w]);
  if (++window_ < rule.window_steps) return;
  const std::vector<double> slowness = slowness_in_stage(workers, work_s_);
  Eviction worst{.step = step_, .node = -1, .slowness = rule.threshold};
  for (std::size_t w = 0; w < workers.size(); ++w)
    if (slowness[w] > worst.slowness && !exempt_.nodes.contains(workers[w].node))
      worst.slowness = slowness[w], worst.node = workers[w].node;
  std::fill(work_s_.begin(), work_s_.end(), 0);
  window_ = 0;
  if (worst.node < 0) return;
  worst.has_spare =
      static_cast<int>(evictions_.size()) - exempt_.evicted_without_spare < rule.spares;
  if (!worst.has_spare && exempt_.evicted_without_spare + 2 > scenario_.cluster.nodes())
    return;  // one node has to stay
  exempt_.nodes.insert(worst.node);
  if (!worst.has_spare) ++exempt_.evicted_without_spare;
  clock_s_ += rule.swap_s;
  evictions_.push_back(worst);
  lower_again();
}
}  // namespace stepcast
