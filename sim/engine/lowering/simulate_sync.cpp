#include "sim/engine/lowering/simulate_sync.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/random.hpp"
#include "sim/data/advice.hpp"
#include "sim/engine/lowering/sync_lowering.hpp"
#include "sim/graph/gradient_reduce.hpp"

namespace stepcast {
namespace {
/// Where the servers' CPUs are what everyone waits for, thinner messages change nothing: sums and
/// updates stay as large.
constexpr double kServerBound = 0.95;
void warn_of_busy_servers(const Scenario& scenario, const SyncOutcome& sync,
                          std::vector<std::string>& warnings) {
  double busiest = 0;
  for (const ServerUse& use : sync.servers) busiest = std::max(busiest, use.utilisation);
  if (busiest < kServerBound) return;
  const CompressionSpec& compression = scenario.compression;
  const bool is_dense =
      compression.scheme != CompressionScheme::none && !keeps_a_share(compression.scheme);
  warnings.push_back(fmt::format(
      "server-bound: a parameter server's CPU is busy {:.0f} % of the time; more servers, a higher "
      "summation_GBps or updates on the workers help{}",
      100 * busiest,
      is_dense ? fmt::format(", /compression {} does not: gradients are summed and applied whole",
                             text_of(compression.scheme))
               : ""));
}
}  // namespace

void simulate_sync(const Scenario& scenario, const StepGraph& graph, const Profile& profile,
                   const SimulateOptions& options, Forecast& forecast) {
  Scenario drawn = scenario;
  for (int run = 0; run < std::max(1, scenario.run.runs); ++run) {
    if (run > 0) drawn.run.seed = mixed_bits(scenario.run.seed, static_cast<std::uint64_t>(run));
    const LoweredSync lowered = lower_sync(drawn, graph, forecast.work, profile);
    const SyncJob& job = lowered.job;
    const std::unique_ptr<Network> network = make_network(options.engine);
    SyncOutcome sync = run_sync(job, *network);
    forecast.step_times.insert(forecast.step_times.end(), sync.step_times.begin(),
                               sync.step_times.end());
    if (run > 0) continue;
    // The step that is broken down is the slowest replica's own.
    StepOutcome& outcome = forecast.outcome;
    const auto total = [](const Breakdown& b) {
      double sum = 0;
      for (const double s : b) sum += s;
      return sum;
    };
    for (std::uint32_t w = 0; w < sync.per_worker.size(); ++w) {
      if (w == 0 || total(sync.per_worker[w]) > outcome.step_s)
        outcome.critical_worker = w, outcome.step_s = total(sync.per_worker[w]);
      outcome.finish_s.push_back(total(sync.per_worker[w]));
    }
    outcome.per_worker = sync.per_worker;
    outcome.breakdown = sync.per_worker[outcome.critical_worker];
    outcome.step_s = total(outcome.breakdown);
    outcome.events = sync.events;
    outcome.payload_bytes[static_cast<std::size_t>(GroupKind::dp)] =
        sync.bytes_sent / static_cast<double>(job.steps);
    for (std::size_t i = 0; i < sync.busiest_names.size(); ++i)
      outcome.busiest.push_back({sync.busiest_names[i], sync.busiest_bytes[i] / job.steps,
                                 sync.busiest_capacity[i], sync.busiest_utilisation[i]});
    forecast.simulated_workers = static_cast<int>(job.workers.size());
    forecast.run_s = sync.end_s;
    warn_of_busy_servers(scenario, sync, forecast.warnings);
    forecast.sync = std::move(sync);
    if (outcome.step_s > 0) forecast.relative_sigma = lowered.doubts.sigma() / outcome.step_s;
    if (scenario.data) {
      SyncJob unhindered = job;
      unhindered.supply = nullptr;
      const std::unique_ptr<Network> other = make_network(options.engine);
      const SyncOutcome free = run_sync(unhindered, *other);
      forecast.data = data_forecast(
          *scenario.data, lowered.site,
          free.samples_per_s > 0
              ? static_cast<double>(scenario.training.global_batch) / free.samples_per_s
              : 0);
      forecast.data->stall_s = outcome.breakdown[static_cast<std::size_t>(Category::data_stall)];
      if (outcome.step_s > 0) forecast.data->stall_share = forecast.data->stall_s / outcome.step_s;
    }
  }
  if (!scenario.stragglers.empty()) {
    Scenario calm = scenario;
    calm.stragglers.clear();
    calm.mitigation = {};
    calm.run.runs = 1;
    const std::unique_ptr<Network> network = make_network(options.engine);
    const SyncOutcome sync =
        run_sync(lower_sync(calm, graph, forecast.work, profile).job, *network);
    if (sync.samples_per_s > 0)
      forecast.straggler_free_s =
          static_cast<double>(scenario.training.global_batch) / sync.samples_per_s;
  }
}
}  // namespace stepcast
