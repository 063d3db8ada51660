// Rounds over everyone, gossip with neighbours, elastic averaging towards a centre.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/sync/sync_run.hpp"

namespace stepcast {

void SyncRun::log_update(std::uint32_t worker, int step, std::int64_t read_version,
                         std::int64_t staleness, bool is_dropped, int peer) {
  if (is_over()) return;  // what was under way when the last wanted update entered
  SyncUpdate u;
  u.order = static_cast<std::int64_t>(applied_);
  u.read_version = read_version;
  u.worker = static_cast<std::int32_t>(worker);
  u.step = step;
  u.peer = peer;
  u.time_s = network_.now();
  u.staleness = staleness;
  u.is_dropped = is_dropped;
  log_.push_back(u);
  if (!is_dropped) ++applied_;
  if (is_over())
    for (const Network::Handle timer : link_timers_) network_.cancel_timer(timer);
}

// The gradient of a step without servers: backup workers meet at once, the others first update
// their own parameters and meet when the period is over.
void SyncRun::after_local_step(std::uint32_t worker) {
  if (job_.spec.mode == SyncMode::bsp) return arrive_at_round(worker);
  compute(worker, job_.optimizer, [this, worker] {
    WorkerState& now = workers_[worker];
    if (now.steps_done % job_.spec.period != 0) return begin_step(worker);
    switch (job_.spec.mode) {
      case SyncMode::gossip:
        return gossip(worker);
      case SyncMode::elastic:
        return elastic_exchange(worker);
      default:
        return arrive_at_round(worker);
    }
  });
}

void SyncRun::arrive_at_round(std::uint32_t worker) {
  WorkerState& s = workers_[worker];
  const int needed = static_cast<int>(workers_.size()) -
                     (job_.spec.mode == SyncMode::bsp ? job_.spec.backup_workers : 0);
  // A replica that comes when the round it computed for is on its way or over has its gradient
  // dropped. It takes the parameters from a neighbour once that round is over and goes on with the
  // others.
  if (s.step < open_round_ || round_is_moving_) {
    log_update(worker, s.step, s.read_version, 0, true);
    change(worker, Doing::waiting_for_others);
    late_.push_back(worker);
    if (!round_is_moving_) {
      late_.pop_back();
      change(worker, Doing::transferring);
      send_between(job_.workers[(worker + 1) % workers_.size()].node, job_.workers[worker].node,
                   [this, worker] {
                     workers_[worker].step = open_round_;
                     workers_[worker].read_version = static_cast<std::int64_t>(applied_);
                     begin_step(worker);
                   });
    }
    return;
  }
  change(worker, Doing::waiting_for_others);
  at_round_.push_back(worker);
  if (static_cast<int>(at_round_.size()) == needed) start_round();
}

void SyncRun::start_round() {
  round_is_moving_ = true;
  for (const std::uint32_t w : at_round_) change(w, Doing::transferring);
  network_.after(job_.round.startup_s, [this] {
    auto pending = std::make_shared<int>(1);
    const auto ended = [this, pending] {
      if (--*pending == 0) end_round();
    };
    payload_ += job_.round.payload_bytes;
    for (const SyncRound::Edge& edge : job_.round.edges) {
      if (edge.bytes <= 0) continue;
      ++*pending;
      network_.start_flow(edge.route, edge.bytes, ended);
    }
    if (job_.round.intra_s > 0) {
      ++*pending;
      network_.after(job_.round.intra_s, ended);
    }
    ended();
  });
}

void SyncRun::end_round() {
  std::vector<std::uint32_t> members = std::move(at_round_), late = std::move(late_);
  at_round_.clear();
  late_.clear();
  round_is_moving_ = false;
  ++open_round_;
  const auto version =
      static_cast<std::int64_t>(applied_) + static_cast<std::int64_t>(members.size());
  for (const std::uint32_t w : members) {
    WorkerState& s = workers_[w];
    log_update(w, s.step, s.read_version, 0);
    s.read_version = version;
    s.step = open_round_;
  }
  for (const std::uint32_t w : members) {
    const bool updates_now = job_.spec.mode == SyncMode::bsp;
    if (updates_now)
      compute(w, job_.optimizer, [this, w] { begin_step(w); });
    else
      begin_step(w);
  }
  for (const std::uint32_t w : late) {
    change(w, Doing::transferring);
    send_between(job_.workers[members.front()].node, job_.workers[w].node, [this, w] {
      workers_[w].step = open_round_;
      workers_[w].read_version = static_cast<std::int64_t>(applied_);
      begin_step(w);
    });
  }
}

void SyncRun::send_between(int from_node, int to_node, std::function<void()> then) {
  payload_ += job_.payload_message_bytes;
  network_.after(job_.message_startup_s, [this, from_node, to_node, then = std::move(then)] {
    std::vector<LinkId> route;
    if (from_node != to_node)
      job_.topology->append_route(
          from_node, to_node,
          static_cast<std::uint64_t>(from_node) * 131 + static_cast<std::uint64_t>(to_node), route);
    if (route.empty() || job_.message_bytes <= 0) {
      network_.after(0, then);
      return;
    }
    network_.start_flow(route, job_.message_bytes, then);
  });
}

// ring: the parameters go to both neighbours and theirs are waited for. random: a drawn peer swaps
// its parameters as they are.
void SyncRun::gossip(std::uint32_t worker) {
  WorkerState& s = workers_[worker];
  const auto n = static_cast<std::uint32_t>(workers_.size());
  const int exchange = s.exchange_round++;
  change(worker, Doing::transferring);
  if (job_.spec.peers == GossipPeers::random) {
    auto peer = static_cast<std::uint32_t>(
        mixed_bits(mixed_bits(job_.seed, worker), static_cast<std::uint64_t>(exchange)) % (n - 1));
    if (peer >= worker) ++peer;
    auto pending = std::make_shared<int>(2);
    const auto done = [this, worker, peer, pending] {
      if (--*pending > 0) return;
      WorkerState& me = workers_[worker];
      log_update(worker, me.steps_done - 1, static_cast<std::int64_t>(applied_),
                 std::abs(me.steps_done - workers_[peer].steps_done), false,
                 static_cast<int>(peer));
      begin_step(worker);
    };
    send_between(job_.workers[worker].node, job_.workers[peer].node, done);
    send_between(job_.workers[peer].node, job_.workers[worker].node, done);
    return;
  }
  s.awaits_neighbours = true;
  const std::uint32_t next = (worker + 1) % n, before = (worker + n - 1) % n;
  for (const std::uint32_t peer :
       n == 2 ? std::vector<std::uint32_t>{next} : std::vector<std::uint32_t>{next, before})
    send_between(job_.workers[worker].node, job_.workers[peer].node,
                 [this, peer, exchange] { gossip_arrived(peer, exchange); });
  gossip_arrived(worker, -1);
}

void SyncRun::gossip_arrived(std::uint32_t worker, int exchange) {
  WorkerState& s = workers_[worker];
  if (exchange >= 0) ++s.arrived[exchange];
  if (!s.awaits_neighbours) return;
  const int mine = s.exchange_round - 1, wanted = workers_.size() == 2 ? 1 : 2;
  if (s.arrived[mine] < wanted) {
    change(worker, Doing::waiting_for_others);
    return;
  }
  s.arrived.erase(mine);
  s.awaits_neighbours = false;
  log_update(worker, s.steps_done - 1, static_cast<std::int64_t>(applied_), 0);
  change(worker, Doing::transferring);
  begin_step(worker);
}

void SyncRun::elastic_exchange(std::uint32_t worker) {
  WorkerState& s = workers_[worker];
  change(worker, Doing::transferring);
  s.exchanges_here = 0;
  for (std::uint32_t e = 0; e < job_.exchanges.size(); ++e) {
    s.pulls_left[e] = static_cast<std::uint32_t>(job_.exchanges[e].shares.size());
    for (std::uint32_t k = 0; k < job_.exchanges[e].shares.size(); ++k) pull(worker, e, k);
  }
}
}  // namespace stepcast
