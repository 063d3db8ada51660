#include <algorithm>
#include <deque>
#include <map>

#include "runtime/converge/training_run.hpp"
#include "sim/core/assert.hpp"

/// Ways of synchronising in which there is one copy of the parameters: all at once, or one gradient
/// after another.
namespace stepcast::runtime {

void TrainingRun::lockstep() {
  std::vector<float> parameters = initial();
  Optimizer optimizer = new_optimizer();
  Group group;
  const auto per_node = static_cast<std::size_t>(setup_.compressor ? setup_.workers_per_node : 1);
  std::multimap<std::int64_t, int> dropped;
  for (const UpdateEntry& entry : setup_.order.entries)
    if (entry.is_dropped) dropped.emplace(entry.step, entry.worker);

  std::vector<std::vector<float>> gradient;
  for (std::int64_t step = 0; !look(static_cast<double>(step), parameters); ++step) {
    gradients(parameters, step, 0, workers(), gradient);
    note_noise(gradient);
    std::size_t taken = gradient.size();
    if (setup_.order.recorded_steps > 0) {
      const auto [first, last] = dropped.equal_range(step % setup_.order.recorded_steps);
      for (auto late = first; late != last; ++late, --taken)
        std::fill(gradient[static_cast<std::size_t>(late->second)].begin(),
                  gradient[static_cast<std::size_t>(late->second)].end(), 0.0F);
    }
    STEPCAST_ASSERT(taken > 0, "an update takes at least one gradient");
    std::vector<std::vector<float>> nodes;
    for (std::size_t first = 0; first < gradient.size(); first += per_node) {
      nodes.push_back(std::move(gradient[first]));
      for (std::size_t worker = first + 1; worker < std::min(first + per_node, gradient.size());
           ++worker)
        for (std::size_t i = 0; i < nodes.back().size(); ++i)
          nodes.back()[i] += gradient[worker][i];
    }
    refresh(group, static_cast<int>(nodes.size()), static_cast<double>(step));
    std::vector<float> mean = reduced(nodes, group.members.get());
    for (float& m : mean) m *= static_cast<float>(nodes.size()) / static_cast<float>(taken);
    clip(mean, setup_.spec.clip_norm);
    optimizer.update(parameters, mean,
                     learning_rate(setup_.spec, samples_per_update() * static_cast<double>(taken),
                                   static_cast<double>(step)));
  }
}

void TrainingRun::stale() {
  const auto& entries = setup_.order.entries;
  STEPCAST_ASSERT(!entries.empty(), "a stale order was recorded");
  std::int64_t longest = 0;
  for (const UpdateEntry& entry : entries) longest = std::max(longest, entry.staleness);
  std::deque<std::vector<float>> versions{initial()};  // the newest last
  Optimizer optimizer = new_optimizer();
  std::vector<Group> groups(static_cast<std::size_t>(
      workers()));  // each worker compresses alone and keeps its own residual
  std::vector<std::int64_t> own_step(static_cast<std::size_t>(workers()), 0);

  std::vector<std::vector<float>> gradient;
  double staleness = 0;
  std::int64_t update = 0;
  for (; !look(static_cast<double>(update) / workers(), versions.back()); ++update) {
    const UpdateEntry& entry = entry_at(update);
    const auto age = static_cast<std::size_t>(
        std::min({entry.staleness, update, static_cast<std::int64_t>(versions.size()) - 1}));
    staleness += static_cast<double>(age);
    const auto worker = static_cast<std::size_t>(entry.worker);
    gradients(versions[versions.size() - 1 - age], own_step[worker]++, entry.worker, 1, gradient);
    refresh(groups[worker], 1, static_cast<double>(update) / workers());
    std::vector<float> mean = reduced(gradient, groups[worker].members.get());
    clip(mean, setup_.spec.clip_norm);
    versions.push_back(versions.back());
    optimizer.update(
        versions.back(), mean,
        learning_rate(setup_.spec, samples_per_update(), static_cast<double>(update) / workers()));
    if (static_cast<std::int64_t>(versions.size()) > longest + 1) versions.pop_front();
  }
  sent_bytes_ /= workers();
  if (update > 0) outcome_.mean_staleness = staleness / static_cast<double>(update);
}
}  // namespace stepcast::runtime
