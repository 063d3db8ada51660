#include "runtime/converge/training_run.hpp"
#include "sim/core/assert.hpp"

/// Ways of synchronising in which every worker has parameters of its own that are pulled together.
namespace stepcast::runtime {
namespace {
constexpr double kElasticity = 0.9;  // beta of Zhang, Choromanska, LeCun 2015, section 5; a worker moves by beta / workers

struct Replica { std::vector<float> parameters; Optimizer optimizer; std::int64_t steps = 0; };
}  // namespace

void TrainingRun::averaging() {
  std::vector<float> common = initial();
  Group group;
  std::vector<Optimizer> optimizers(static_cast<std::size_t>(workers()), new_optimizer());
  std::vector<std::vector<float>> change(static_cast<std::size_t>(workers()));
  for (std::int64_t step = 0; !look(static_cast<double>(step), common); step += setup_.order.period) {
    for (int worker = 0; worker < workers(); ++worker) {
      std::vector<float> own = common;
      local_steps(own, optimizers[static_cast<std::size_t>(worker)], worker, step, step + setup_.order.period);
      for (std::size_t i = 0; i < own.size(); ++i) own[i] -= common[i];
      change[static_cast<std::size_t>(worker)] = std::move(own);
    }
    refresh(group, workers(), static_cast<double>(step));
    const std::vector<float> mean = mean_of(change, group.members.get());
    for (std::size_t i = 0; i < common.size(); ++i) common[i] += mean[i];
  }
}

void TrainingRun::elastic() {
  STEPCAST_ASSERT(!setup_.order.entries.empty(), "an elastic order was recorded");
  std::vector<float> centre = initial();
  std::vector<Replica> replicas(static_cast<std::size_t>(workers()), Replica{centre, new_optimizer()});
  std::vector<Group> groups(replicas.size());
  const auto pull = static_cast<float>(kElasticity / workers());
  for (std::int64_t exchange = 0; !look(static_cast<double>(exchange * setup_.order.period) / workers(), centre); ++exchange) {
    const auto& entries = setup_.order.entries;
    const UpdateEntry& entry = entries[static_cast<std::size_t>(exchange) % entries.size()];
    Replica& replica = replicas[static_cast<std::size_t>(entry.worker)];
    local_steps(replica.parameters, replica.optimizer, entry.worker, replica.steps, replica.steps + setup_.order.period);
    replica.steps += setup_.order.period;
    std::vector<std::vector<float>> difference{replica.parameters};
    for (std::size_t i = 0; i < centre.size(); ++i) difference.front()[i] -= centre[i];
    Group& group = groups[static_cast<std::size_t>(entry.worker)];
    refresh(group, 1, static_cast<double>(exchange * setup_.order.period) / workers());
    const std::vector<float> moved = mean_of(difference, group.members.get());
    for (std::size_t i = 0; i < centre.size(); ++i) {
      replica.parameters[i] -= pull * moved[i];
      centre[i] += pull * moved[i];
    }
  }
  sent_bytes_ /= workers();
}

void TrainingRun::pairs() {
  STEPCAST_ASSERT(!setup_.order.entries.empty(), "an order of pairs was recorded");
  std::vector<Replica> replicas(static_cast<std::size_t>(workers()), Replica{initial(), new_optimizer()});
  std::vector<float> centre = replicas.front().parameters;
  const auto refresh = [&] {
    std::fill(centre.begin(), centre.end(), 0.0F);
    for (const Replica& replica : replicas)
      for (std::size_t i = 0; i < centre.size(); ++i) centre[i] += replica.parameters[i] / static_cast<float>(workers());
  };
  const auto& entries = setup_.order.entries;
  for (std::int64_t exchange = 0;; ++exchange) {
    const double step = static_cast<double>(exchange * setup_.order.period) / workers();
    if (step >= next_look_ || step >= setup_.spec.steps) refresh();
    if (look(step, centre)) break;
    const UpdateEntry& entry = entries[static_cast<std::size_t>(exchange) % entries.size()];
    Replica& own = replicas[static_cast<std::size_t>(entry.worker)];
    local_steps(own.parameters, own.optimizer, entry.worker, own.steps, own.steps + setup_.order.period);
    own.steps += setup_.order.period;
    if (entry.peer < 0 || entry.peer == entry.worker) continue;
    std::vector<float>& other = replicas[static_cast<std::size_t>(entry.peer)].parameters;
    for (std::size_t i = 0; i < other.size(); ++i) own.parameters[i] = other[i] = (own.parameters[i] + other[i]) / 2;
    sent_bytes_ += 2 * static_cast<double>(sizeof(float)) * static_cast<double>(parameter_count());
  }
  sent_bytes_ /= workers();
}

void TrainingRun::ring() {
  const auto count = static_cast<std::size_t>(workers());
  std::vector<std::vector<float>> replicas(count, initial());
  std::vector<Optimizer> optimizers(count, new_optimizer());
  for (std::int64_t step = 0; !look(static_cast<double>(step), centre_of(replicas)); step += setup_.order.period) {
    for (std::size_t worker = 0; worker < count; ++worker)
      local_steps(replicas[worker], optimizers[worker], static_cast<int>(worker), step, step + setup_.order.period);
    if (count == 1) continue;
    // Lian et al. 2017: equal weights for a worker and its neighbours.
    std::vector<std::vector<float>> mixed = replicas;
    for (std::size_t worker = 0; worker < count; ++worker)
      for (std::size_t i = 0; i < mixed[worker].size(); ++i)
        mixed[worker][i] = (replicas[(worker + count - 1) % count][i] + replicas[worker][i] + replicas[(worker + 1) % count][i]) / 3;
    replicas = std::move(mixed);
    sent_bytes_ += 2 * static_cast<double>(sizeof(float)) * static_cast<double>(parameter_count());
  }
}
}  // namespace stepcast::runtime
