// Rates, staleness and use of servers and links, after the run has settled.
#include <algorithm>
#include <numeric>

#include "sim/sync/sync_run.hpp"

namespace stepcast {

SyncOutcome SyncRun::outcome() {
  SyncOutcome out;
  out.mode = job_.spec.mode;
  out.end_s = log_.empty() ? network_.now() : log_.back().time_s;
  out.events = network_.events();
  out.bytes_sent = payload_;

  // The first tenth of the updates starts from a common moment and is left out of every rate.
  std::vector<const SyncUpdate*> taken;
  for (const SyncUpdate& u : log_)
    if (!u.is_dropped)
      taken.push_back(&u);
    else
      ++out.dropped;
  std::size_t first = taken.size() > 10 ? taken.size() / 10 : 0;
  // Updates of one moment (a synchronous step, an average) are kept together.
  while (first > 0 && first < taken.size() && taken[first]->time_s <= taken[first - 1]->time_s)
    ++first;
  if (first == taken.size()) first = 0;
  const double from = first > 0 ? taken[first - 1]->time_s : 0,
               length = taken.empty() ? 0 : taken.back()->time_s - from;
  double sum = 0;
  for (std::size_t i = first; i < taken.size(); ++i) {
    ++out.staleness[taken[i]->staleness];
    sum += static_cast<double>(taken[i]->staleness);
    out.most_staleness = std::max(out.most_staleness, taken[i]->staleness);
  }
  if (taken.size() > first) out.mean_staleness = sum / static_cast<double>(taken.size() - first);
  if (length > 0) {
    out.updates_per_s = static_cast<double>(taken.size() - first) / length;
    // Samples that enter the model: each update stands for its worker's samples, over a period's
    // steps.
    double samples = 0, batch = 0, batch_start = from;
    for (std::size_t i = first; i < taken.size(); ++i) {
      const double mine = job_.spec.period *
                          job_.workers[static_cast<std::size_t>(taken[i]->worker)].samples_per_step;
      samples += mine;
      batch += mine;
      const bool is_last_at_once = i + 1 == taken.size() || taken[i + 1]->time_s > taken[i]->time_s;
      if (batch >= job_.global_batch * (1 - 1e-9) && is_last_at_once) {
        out.step_times.push_back((taken[i]->time_s - batch_start) * job_.global_batch / batch);
        batch_start = taken[i]->time_s;
        batch = 0;
      }
    }
    out.samples_per_s = samples / length;
  }
  if (out.step_times.empty() && out.samples_per_s > 0)
    out.step_times.push_back(job_.global_batch / out.samples_per_s);

  for (std::size_t w = 0; w < workers_.size(); ++w) {
    Breakdown per_step = workers_[w].breakdown;
    const double steps = std::max(1, workers_[w].steps_done);
    for (double& seconds : per_step) seconds /= steps;
    out.per_worker.push_back(per_step);
    out.steps_of_worker.push_back(steps);
  }
  const double end = std::max(out.end_s, 1e-12);
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    ServerUse use{.busy_s = servers_[s].busy_s, .stored_bytes = job_.servers[s].stored_bytes};
    use.utilisation = std::min(1.0, use.busy_s / end);
    const int node = job_.servers[s].node;
    const LinkId tx = job_.topology->tx_port(node), rx = job_.topology->rx_port(node);
    use.tx_utilisation = network_.bytes_carried(tx) / (job_.links[tx].capacity.value * end);
    use.rx_utilisation = network_.bytes_carried(rx) / (job_.links[rx].capacity.value * end);
    out.servers.push_back(use);
  }
  std::vector<std::size_t> order(job_.links.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto load = [&](std::size_t l) {
    return network_.bytes_carried(static_cast<LinkId>(l)) / (job_.links[l].capacity.value * end);
  };
  constexpr std::size_t kMost = 10;
  std::vector<double> loads;
  for (std::size_t l = 0; l < order.size(); ++l) loads.push_back(load(l));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return loads[a] > loads[b]; });
  for (std::size_t i = 0; i < std::min(kMost, order.size()) && loads[order[i]] > 0; ++i) {
    out.busiest_names.push_back(job_.links[order[i]].name);
    out.busiest_utilisation.push_back(loads[order[i]]);
    out.busiest_bytes.push_back(network_.bytes_carried(static_cast<LinkId>(order[i])));
    out.busiest_capacity.push_back(job_.links[order[i]].capacity.value);
  }
  out.updates = std::move(log_);
  return out;
}
}  // namespace stepcast
