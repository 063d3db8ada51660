// Batches that workers take from their loaders.
#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/engine/executor/step_run.hpp"

namespace stepcast {
namespace {
constexpr auto kLoader = static_cast<std::size_t>(Lane::loader);
}  // namespace

void StepRun::attach_supply(const ExecuteOptions& options) {
  if (options.supply == nullptr) return;
  for (std::uint32_t worker = 0; worker < job_.workers.size(); ++worker)
    if (const std::int32_t consumer = job_.workers[worker].loader; consumer >= 0) {
      STEPCAST_ASSERT(static_cast<std::size_t>(consumer) == worker_of_consumer_.size(),
                      "consumers are numbered in the order of their workers");
      worker_of_consumer_.push_back(worker);
    }
  supply_.emplace(*options.supply, network_, job_.clock_s, [this](std::uint32_t consumer) {
    end_load(worker_of_consumer_[consumer], consumer);
  });
  const auto detailed = std::count_if(
      worker_of_consumer_.begin(), worker_of_consumer_.end(), [&](std::uint32_t worker) {
        return recorder_ &&
               worker < static_cast<std::uint32_t>(std::max(0, options.detail_workers));
      });
  options.supply->record(static_cast<std::uint32_t>(detailed));
}

void StepRun::load(std::uint32_t worker, std::size_t lane) {
  const std::int32_t consumer = job_.workers[worker].loader;
  if (!supply_ || consumer < 0) return complete(worker, lane);
  supply_->ask(static_cast<std::uint32_t>(consumer));
}

// The host waited for the batch and issues the pass from that moment on.
void StepRun::end_load(std::uint32_t worker, std::uint32_t consumer) {
  WorkerState& state = workers_[worker];
  state.host_free = std::max(state.host_free, supply_->ready_at(consumer));
  if (recorder_)
    recorder_->span(worker, Lane::loader, head(worker, kLoader), Category::data_stall,
                    state.lanes[kLoader].since, network_.now());
  complete(worker, kLoader);
}

void StepRun::record_loaders() {
  if (supply_ && recorder_) recorder_->loaders(worker_of_consumer_, supply_->spans(), job_.clock_s);
}
}  // namespace stepcast
