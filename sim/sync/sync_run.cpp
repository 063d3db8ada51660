// A worker's step: data, pause, forward, backward, and when its buckets leave.
#include "sim/sync/sync_run.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"

namespace stepcast {
namespace {
SyncCompute part(const SyncCompute& c, double share) { return {c.scaled * share, c.fixed * share}; }
}  // namespace

SyncRun::SyncRun(const SyncJob& job, Network& network)
    : job_(job), network_(network), workers_(job.workers.size()), servers_(job.servers.size()) {
  STEPCAST_ASSERT(network.now() == 0 && !job.workers.empty(), "a job runs on a network of its own");
  for (std::size_t i = 0; i < job.links.size(); ++i) {
    const LinkId id = network.link(job.links[i].name, job.links[i].capacity.value);
    STEPCAST_ASSERT(id == i, "a fresh network numbers its links from 0, as routes do");
  }
  std::size_t shares = 0;
  for (const SyncExchange& e : job.exchanges) {
    first_share_.push_back(shares);
    shares += e.shares.size();
  }
  pushes_in_.assign(shares, 0);
  step_of_share_.assign(shares, 0);
  steps_applied_.assign(job.workers.size(), 0);
  wants_.assign(job.workers.size(), std::vector<char>(shares, 0));
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    workers_[w].loaders = job.workers[w].loaders;
    workers_[w].pulls_left.assign(job.exchanges.size(), 0);
    workers_[w].exchanges_here = job.exchanges.size();  // everyone starts with the same parameters
  }
  if (job.supply) {
    after_load_.resize(workers_.size());
    worker_of_consumer_.assign(workers_.size(), 0);
    for (std::uint32_t w = 0; w < workers_.size(); ++w)
      if (job.workers[w].loader >= 0)
        worker_of_consumer_[static_cast<std::size_t>(job.workers[w].loader)] = w;
    supply_.emplace(*job.supply, network_, 0, [this](std::uint32_t consumer) {
      std::exchange(after_load_[worker_of_consumer_[consumer]], nullptr)();
    });
  }
  // Every worker's steps count as one update each; elastic averaging and gossip make one per
  // period, rounds one per worker.
  const std::size_t contributors =
      job.workers.size() -
      (job.spec.mode == SyncMode::bsp ? static_cast<std::size_t>(job.spec.backup_workers) : 0);
  target_ = static_cast<std::int64_t>(contributors) * std::max(1, job.steps / job.spec.period);
}

SyncOutcome SyncRun::run() {
  schedule_link_events();
  network_.after(0, [this] {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) begin_step(w);
  });
  network_.run();
  if (!is_over())
    throw InternalError("the replicas cannot go on: " + std::to_string(applied_) + " of " +
                        std::to_string(target_) + " updates were made; worker 0 is in step " +
                        std::to_string(workers_[0].step));
  return outcome();
}

void SyncRun::change(std::uint32_t worker, Doing doing) {
  WorkerState& s = workers_[worker];
  const double now = network_.now();
  Category owner = Category::other;
  switch (s.doing) {
    case Doing::waiting_for_others:
      owner = Category::straggler_wait;
      break;
    case Doing::transferring:
      owner = Category::exposed_dp;
      break;
    case Doing::computing:
      owner = Category::compute;
      break;
    case Doing::reading_data:
      owner = Category::data_stall;
      break;
    case Doing::paused:
    case Doing::done:
      break;
  }
  if (s.doing != Doing::done) s.breakdown[static_cast<std::size_t>(owner)] += now - s.mark;
  s.mark = now;
  s.doing = doing;
}

double SyncRun::stretched(std::uint32_t worker, const SyncCompute& work) {
  const SyncWorker& w = job_.workers[worker];
  const WorkerState& s = workers_[worker];
  double factor = w.slowdown;
  const std::uint64_t op = (s.is_forward ? 0 : 1ULL << 32) | s.piece;
  if (w.jitter_sigma > 0) {
    const std::uint64_t key =
        mixed_bits(mixed_bits(job_.seed, static_cast<std::uint64_t>(s.steps_done)), op);
    double slowest = -1e300;
    for (int rank = w.first_rank; rank < w.first_rank + std::max(1, w.jitter_ranks); ++rank)
      slowest =
          std::max(slowest, normal_from_bits(mixed_bits(key, static_cast<std::uint64_t>(rank))));
    factor *= std::exp(w.jitter_sigma * slowest - 0.5 * w.jitter_sigma * w.jitter_sigma);
  }
  if (!w.disturbance.empty())
    factor *=
        w.disturbance.stretch({job_.seed, s.steps_done, op, network_.now()}, factor * work.scaled);
  return factor * work.scaled + work.fixed;
}

void SyncRun::compute(std::uint32_t worker, const SyncCompute& work, std::function<void()> then) {
  change(worker, Doing::computing);
  network_.after(stretched(worker, work), std::move(then));
}

void SyncRun::begin_step(std::uint32_t worker) {
  WorkerState& s = workers_[worker];
  if (is_over()) {
    change(worker, Doing::done);
    return;
  }
  s.is_forward = true;
  s.piece = 0;
  s.lane_free = network_.now();
  double data = 0;
  for (StorageQueue& loader : s.loaders) data = std::max(data, loader.wait_s(network_.now()));
  const SyncWorker& w = job_.workers[worker];
  const double pause =
      w.pause + (w.disturbance.empty() ? 0 : w.disturbance.pause_s(job_.seed, s.steps_done));
  const auto go = [this, worker] { start_forward(worker); };
  const auto pause_then_go = [this, worker, pause, go] {
    if (pause <= 0) return go();
    change(worker, Doing::paused);
    network_.after(pause, go);
  };
  const auto read_then_go = [this, worker, data, pause_then_go] {
    if (data <= 0) return pause_then_go();
    change(worker, Doing::reading_data);
    network_.after(data, pause_then_go);
  };
  if (!supply_ || job_.workers[worker].loader < 0) return read_then_go();
  load(worker, read_then_go);
}

void SyncRun::load(std::uint32_t worker, std::function<void()> then) {
  change(worker, Doing::reading_data);
  after_load_[worker] = std::move(then);
  supply_->ask(static_cast<std::uint32_t>(job_.workers[worker].loader));
}

void SyncRun::start_forward(std::uint32_t worker) {
  const bool overlaps =
      job_.spec.server.overlap_pull && job_.spec.has_servers() && !job_.exchanges.empty();
  if (overlaps) return next_piece(worker);
  compute(worker, job_.forward, [this, worker] {
    workers_[worker].is_forward = false;
    compute(worker, job_.middle, [this, worker] { backward_piece(worker); });
  });
}

// With overlapped pulls the forward runs in as many pieces as there are exchanges, first layers
// first: they are the last bucket of the backward. A piece takes the share of the forward that its
// backward has of the backward.
void SyncRun::next_piece(std::uint32_t worker) {
  WorkerState& s = workers_[worker];
  const std::size_t n = job_.exchanges.size();
  if (s.piece == n) {
    s.read_version = s.reading_version;
    s.piece = 0;
    s.is_forward = false;
    compute(worker, job_.middle, [this, worker] { backward_piece(worker); });
    return;
  }
  const std::size_t exchange = n - 1 - s.piece;
  if (s.pulls_left[exchange] > 0) {
    s.is_blocked_on_pull = true;
    change(worker, Doing::transferring);
    return;
  }
  double all = 0;
  for (const SyncExchange& e : job_.exchanges) all += e.backward.scaled + e.backward.fixed;
  const SyncCompute& mine = job_.exchanges[exchange].backward;
  compute(
      worker,
      part(job_.forward, all > 0 ? (mine.scaled + mine.fixed) / all : 1.0 / static_cast<double>(n)),
      [this, worker] {
        ++workers_[worker].piece;
        next_piece(worker);
      });
}

void SyncRun::backward_piece(std::uint32_t worker) {
  WorkerState& s = workers_[worker];
  if (s.piece == 0 && job_.spec.has_servers() && job_.spec.mode != SyncMode::elastic) {
    Pushed& mine = s.pushed[s.step];
    mine = {.read_version = s.read_version};
    for (const SyncExchange& e : job_.exchanges) mine.left += e.shares.size();
  }
  if (s.piece == job_.exchanges.size()) {
    compute(worker, job_.tail, [this, worker] { end_backward(worker); });
    return;
  }
  compute(worker, job_.exchanges[s.piece].backward, [this, worker] {
    WorkerState& now = workers_[worker];
    bucket_ready(worker, now.piece++);
    backward_piece(worker);
  });
}

// Encoding and the reduction inside the node follow one another beside the backward.
void SyncRun::bucket_ready(std::uint32_t worker, std::size_t exchange) {
  const SyncExchange& e = job_.exchanges[exchange];
  WorkerState& s = workers_[worker];
  s.lane_free = std::max(s.lane_free, network_.now()) + e.reduce_s + e.encode_s;
  const SyncMode mode = job_.spec.mode;
  if (!job_.spec.has_servers() || mode == SyncMode::elastic) return;
  for (std::uint32_t k = 0; k < e.shares.size(); ++k) {
    wants_[worker][slot(static_cast<std::uint32_t>(exchange), k)] = 1;
    ++s.pulls_left[exchange];
  }
  if (s.pulls_left[exchange] == e.shares.size() && !e.shares.empty()) --s.exchanges_here;
  s.wants_step = s.step;
  const double wait = s.lane_free - network_.now();
  if (wait <= 0) return push_all(worker, exchange, s.step);
  network_.after(wait,
                 [this, worker, exchange, step = s.step] { push_all(worker, exchange, step); });
}

void SyncRun::end_backward(std::uint32_t worker) {
  WorkerState& s = workers_[worker];
  sample_times_.push_back(network_.now());
  sample_counts_.push_back(job_.workers[worker].samples_per_step);
  const bool uses_gradients_on_servers =
      job_.spec.has_servers() && job_.spec.mode != SyncMode::elastic;
  if (uses_gradients_on_servers) {
    // With overlapped pulls the next step begins at once and waits piece by piece; otherwise for
    // everything.
    ++s.steps_done;
    change(worker, Doing::transferring);
    if (job_.spec.server.overlap_pull) return finish_step(worker);
    s.is_blocked_on_pull = true;
    if (s.exchanges_here == job_.exchanges.size()) finish_step(worker);
    return;
  }
  const double left = std::max(
      0.0,
      s.lane_free - network_.now());  // hierarchical: the node's reductions end after the backward
  change(worker, Doing::transferring);
  network_.after(left + job_.local_round_s, [this, worker] {
    ++workers_[worker].steps_done;
    after_local_step(worker);
  });
}

void SyncRun::finish_step(std::uint32_t worker) {
  WorkerState& s = workers_[worker];
  s.is_blocked_on_pull = false;
  if (!job_.spec.has_servers() || job_.spec.mode == SyncMode::elastic) return begin_step(worker);
  if (!job_.spec.server.overlap_pull) s.read_version = s.reading_version;
  ++s.step;
  if (job_.spec.mode == SyncMode::bsp && !step_of_share_.empty())
    s.step = std::max(s.step,
                      *std::min_element(step_of_share_.begin(),
                                        step_of_share_.end()));  // a late worker rejoins the others
  if (job_.optimizer.scaled + job_.optimizer.fixed > 0 && !job_.spec.server.updates) {
    compute(worker, job_.optimizer, [this, worker] { begin_step(worker); });
    return;
  }
  begin_step(worker);
}

void SyncRun::schedule_link_events() {
  for (const LinkEvent& event : job_.link_events) {
    const auto apply = [this, event] {
      for (const LinkId port :
           {job_.topology->tx_port(event.node), job_.topology->rx_port(event.node)})
        network_.set_capacity(port, job_.links[port].capacity.value * event.capacity_factor);
    };
    if (event.at_s <= 0)
      apply();
    else
      link_timers_.push_back(network_.after(event.at_s, apply));
  }
}

SyncOutcome run_sync(const SyncJob& job, Network& network) { return SyncRun(job, network).run(); }
}  // namespace stepcast
