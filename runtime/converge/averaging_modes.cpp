#include "runtime/converge/training_run.hpp"
#include "sim/core/assert.hpp"

/// Ways of synchronising in which every worker has parameters of its own that are pulled together.
/// They travel uncompressed: scenarios refuse to compress what are not gradients.
namespace stepcast::runtime {
namespace {
constexpr double kElasticity =
    0.9;  // beta of Zhang, Choromanska, LeCun 2015, section 5; a worker moves by beta / workers
}  // namespace

void TrainingRun::averaging() {
  std::vector<float> common = initial();
  std::vector<Optimizer> optimizers(static_cast<std::size_t>(workers()), new_optimizer());
  std::vector<std::vector<float>> replicas(optimizers.size());
  for (std::int64_t step = 0; !look(static_cast<double>(step), common);
       step += setup_.order.period) {
    for (int worker = 0; worker < workers(); ++worker) {
      std::vector<float>& own = replicas[static_cast<std::size_t>(worker)];
      own = common;
      local_steps(own, optimizers[static_cast<std::size_t>(worker)], worker, step,
                  step + setup_.order.period);
    }
    common = mean_of(replicas);
    sent_bytes_ += parameter_bytes();
  }
}

void TrainingRun::elastic() {
  STEPCAST_ASSERT(!setup_.order.entries.empty(), "an elastic order was recorded");
  std::vector<float> centre = initial();
  std::vector<std::vector<float>> replicas(static_cast<std::size_t>(workers()), centre);
  std::vector<Optimizer> optimizers(replicas.size(), new_optimizer());
  std::vector<std::int64_t> steps(replicas.size(), 0);
  const auto pull = static_cast<float>(kElasticity / workers());
  for (std::int64_t exchange = 0; !look(step_of_exchange(exchange), centre); ++exchange) {
    const UpdateEntry& entry = entry_at(exchange);
    const auto worker = static_cast<std::size_t>(entry.worker);
    std::vector<float>& own = replicas[worker];
    local_steps(own, optimizers[worker], entry.worker, steps[worker],
                steps[worker] + setup_.order.period);
    steps[worker] += setup_.order.period;
    for (std::size_t i = 0; i < centre.size(); ++i) {
      const float moved = pull * (own[i] - centre[i]);
      own[i] -= moved;
      centre[i] += moved;
    }
    sent_bytes_ += parameter_bytes() / workers();
  }
}

void TrainingRun::pairs() {
  STEPCAST_ASSERT(!setup_.order.entries.empty(), "an order of pairs was recorded");
  std::vector<std::vector<float>> replicas(static_cast<std::size_t>(workers()), initial());
  std::vector<Optimizer> optimizers(replicas.size(), new_optimizer());
  std::vector<std::int64_t> steps(replicas.size(), 0);
  for (std::int64_t exchange = 0;; ++exchange) {
    const double step = step_of_exchange(exchange);
    if (is_look_due(step) && look(step, mean_of(replicas))) break;
    const UpdateEntry& entry = entry_at(exchange);
    const auto worker = static_cast<std::size_t>(entry.worker);
    std::vector<float>& own = replicas[worker];
    local_steps(own, optimizers[worker], entry.worker, steps[worker],
                steps[worker] + setup_.order.period);
    steps[worker] += setup_.order.period;
    if (entry.peer < 0 || entry.peer == entry.worker) continue;
    std::vector<float>& other = replicas[static_cast<std::size_t>(entry.peer)];
    for (std::size_t i = 0; i < other.size(); ++i) own[i] = other[i] = (own[i] + other[i]) / 2;
    sent_bytes_ += 2 * parameter_bytes() / workers();
  }
}

void TrainingRun::ring() {
  const auto count = static_cast<std::size_t>(workers());
  std::vector<std::vector<float>> replicas(count, initial());
  std::vector<Optimizer> optimizers(count, new_optimizer());
  for (std::int64_t step = 0; !look(static_cast<double>(step), mean_of(replicas));
       step += setup_.order.period) {
    for (std::size_t worker = 0; worker < count; ++worker)
      local_steps(replicas[worker], optimizers[worker], static_cast<int>(worker), step,
                  step + setup_.order.period);
    if (count == 1) continue;
    // Lian et al. 2017: equal weights for a worker and its neighbours.
    std::vector<std::vector<float>> mixed = replicas;
    for (std::size_t worker = 0; worker < count; ++worker)
      for (std::size_t i = 0; i < mixed[worker].size(); ++i)
        mixed[worker][i] = (replicas[(worker + count - 1) % count][i] + replicas[worker][i] +
                            replicas[(worker + 1) % count][i]) /
                           3;
    replicas = std::move(mixed);
    sent_bytes_ += 2 * parameter_bytes();
  }
}
}  // namespace stepcast::runtime
