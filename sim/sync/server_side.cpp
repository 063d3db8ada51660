// Pushes on their way to servers, the servers' queues, and what releases a pull.
#include <algorithm>

#include "sim/sync/sync_run.hpp"

namespace stepcast {

// A colocated server of the worker's own node is reached through host memory; every other one
// through the node's ports.
std::vector<LinkId> SyncRun::route_to(std::uint32_t worker, std::uint32_t server,
                                      bool is_push) const {
  const SyncWorker& w = job_.workers[worker];
  const int node = job_.servers[server].node;
  std::vector<LinkId> route;
  if (is_push) route.push_back(w.host_up);
  if (node != w.node) {
    const std::uint64_t hash = (static_cast<std::uint64_t>(worker) << 20) ^ server;
    if (is_push)
      job_.topology->append_route(w.node, node, hash, route);
    else
      job_.topology->append_route(node, w.node, hash, route);
  }
  if (!is_push) route.push_back(w.host_down);
  return route;
}

void SyncRun::push_all(std::uint32_t worker, std::size_t exchange, int step) {
  for (std::uint32_t k = 0; k < job_.exchanges[exchange].shares.size(); ++k)
    workers_[worker].pushes.waiting.push_back({static_cast<std::uint32_t>(exchange), k, step});
  pump(worker, true);
}

// Without credit everything leaves at once and the links share. With credit (BytePS) a message
// starts when those under way leave room, and the one that the next forward needs first goes first.
void SyncRun::pump(std::uint32_t worker, bool is_push) {
  Lane& lane = is_push ? workers_[worker].pushes : workers_[worker].pulls;
  while (!lane.waiting.empty()) {
    auto first = lane.waiting.begin();
    if (job_.credit_bytes > 0)
      // Workers begin with different servers, so that equal ones do not all queue at the same port.
      first =
          std::min_element(lane.waiting.begin(), lane.waiting.end(),
                           [&](const Lane::Message& a, const Lane::Message& b) {
                             if (a.exchange != b.exchange) return a.exchange > b.exchange;
                             const auto turn = [&](std::uint32_t share) {
                               return (share + worker) % job_.exchanges[a.exchange].shares.size();
                             };
                             return turn(a.share) < turn(b.share);
                           });
    const SyncShare& share = job_.exchanges[first->exchange].shares[first->share];
    const double bytes = is_push ? share.payload_push : share.payload_pull;
    // The parts of one tensor go to their servers together, as its partitions would in turn.
    const bool is_same_tensor = lane.messages_under_way > 0 && lane.exchange == first->exchange;
    if (job_.credit_bytes > 0 && lane.messages_under_way > 0 && !is_same_tensor &&
        lane.under_way + bytes > job_.credit_bytes)
      return;
    lane.exchange = first->exchange;
    lane.under_way += bytes;
    ++lane.messages_under_way;
    const Lane::Message message = *first;
    lane.waiting.erase(first);
    if (is_push)
      send_push(worker, message);
    else
      send_pull(worker, message);
  }
}

void SyncRun::send_push(std::uint32_t worker, const Lane::Message& message) {
  const SyncShare& share = job_.exchanges[message.exchange].shares[message.share];
  const Push push{worker, message.exchange, message.share, message.step};
  const bool is_local = job_.servers[share.server].node == job_.workers[worker].node;
  payload_ += share.payload_push;
  const auto arrived = [this, push] {
    const SyncShare& s = job_.exchanges[push.exchange].shares[push.share];
    workers_[push.worker].pushes.under_way -= s.payload_push;
    --workers_[push.worker].pushes.messages_under_way;
    arrive_at_server(s.server, push);
    pump(push.worker, true);
  };
  network_.after(is_local ? job_.host_link_startup_s : share.push_startup,
                 [this, push, is_local, arrived] {
                   const SyncShare& s = job_.exchanges[push.exchange].shares[push.share];
                   const double bytes = is_local ? s.payload_push : s.push_bytes;
                   if (bytes <= 0) return arrived();
                   network_.start_flow(route_to(push.worker, s.server, true), bytes, arrived);
                 });
}

void SyncRun::arrive_at_server(std::uint32_t server, const Push& push) {
  servers_[server].queue.push_back(push);
  if (!servers_[server].is_busy) serve(server);
}

// One push at a time. Sums of a synchronous step are updated once, by the push that completes them;
// an asynchronous push is an update of its own.
void SyncRun::serve(std::uint32_t server) {
  ServerState& s = servers_[server];
  if (s.queue.empty()) return;
  s.is_busy = true;
  const Push push = s.queue.front();
  s.queue.pop_front();
  const SyncShare& share = job_.exchanges[push.exchange].shares[push.share];
  const std::size_t at = slot(push.exchange, push.share);
  const bool is_sum = job_.spec.mode == SyncMode::bsp;
  const bool is_late = is_sum && push.step < step_of_share_[at];
  const int needed = static_cast<int>(job_.workers.size()) - job_.spec.backup_workers;
  const bool completes = is_sum && !is_late && pushes_in_[at] + 1 == needed;
  double passes = is_late ? 0 : 1;
  if (job_.spec.server.updates && (completes || !is_sum)) passes += job_.spec.server.update_passes;
  const double busy = job_.request_s + passes * share.summed_bytes / job_.summation_Bps;
  s.busy_s += busy;
  network_.after(busy, [this, server, push] {
    servers_[server].is_busy = false;
    take_in(push);
    if (!servers_[server].is_busy) serve(server);
  });
}

void SyncRun::take_in(const Push& push) {
  const std::size_t at = slot(push.exchange, push.share);
  Pushed& mine = workers_[push.worker].pushed[push.step];
  const bool is_late = job_.spec.mode == SyncMode::bsp && push.step < step_of_share_[at];
  if (!is_late) ++mine.taken;
  bool is_complete = false;
  if (job_.spec.mode == SyncMode::bsp && !is_late &&
      ++pushes_in_[at] == static_cast<int>(job_.workers.size()) - job_.spec.backup_workers) {
    pushes_in_[at] = 0;
    ++step_of_share_[at];
    is_complete = true;
  }
  if (--mine.left == 0) own_step_taken_in(push.worker, push.step);
  if (wants_[push.worker][at] == 1) wants_[push.worker][at] = 2;
  if (is_complete) {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) try_release(w, push.exchange, push.share);
  } else {
    try_release(push.worker, push.exchange, push.share);
  }
}

void SyncRun::own_step_taken_in(std::uint32_t worker, int step) {
  WorkerState& s = workers_[worker];
  const Pushed mine = s.pushed[step];
  s.pushed.erase(step);
  const bool is_dropped = mine.taken == 0;
  const bool is_stale_mode = job_.spec.mode != SyncMode::bsp;
  log_update(worker, step, mine.read_version,
             is_stale_mode ? static_cast<std::int64_t>(applied_) - mine.read_version : 0,
             is_dropped);
  if (job_.spec.mode != SyncMode::ssp) return;
  ++steps_applied_[worker];
  const int slowest = *std::min_element(steps_applied_.begin(), steps_applied_.end());
  if (slowest == clock_min_) return;
  clock_min_ = slowest;
  release_blocked();
}

bool SyncRun::may_release(std::uint32_t worker, std::uint32_t exchange, std::uint32_t share) const {
  const std::size_t at = slot(exchange, share);
  const char wants = wants_[worker][at];
  if (wants == 0) return false;
  const WorkerState& s = workers_[worker];
  switch (job_.spec.mode) {
    case SyncMode::bsp:
      return step_of_share_[at] > s.wants_step;
    // The next step may start that far ahead of the slowest.
    case SyncMode::ssp:
      return wants == 2 && s.wants_step + 1 - clock_min_ <= job_.spec.staleness;
    default:
      return wants == 2;
  }
}

void SyncRun::try_release(std::uint32_t worker, std::uint32_t exchange, std::uint32_t share) {
  if (!may_release(worker, exchange, share)) {
    // What it waits for from now on is others, not the wire.
    WorkerState& s = workers_[worker];
    const char wants = wants_[worker][slot(exchange, share)];
    if (wants == 2 && s.is_blocked_on_pull && s.doing == Doing::transferring)
      change(worker, Doing::waiting_for_others);
    return;
  }
  pull(worker, exchange, share);
}

void SyncRun::release_blocked() {
  for (std::uint32_t w = 0; w < workers_.size(); ++w)
    for (std::uint32_t e = 0; e < job_.exchanges.size(); ++e)
      for (std::uint32_t k = 0; k < job_.exchanges[e].shares.size(); ++k)
        if (may_release(w, e, k)) pull(w, e, k);
}

void SyncRun::pull(std::uint32_t worker, std::uint32_t exchange, std::uint32_t share) {
  WorkerState& s = workers_[worker];
  wants_[worker][slot(exchange, share)] = 0;
  s.reading_version = static_cast<std::int64_t>(applied_);
  if (s.doing == Doing::waiting_for_others) change(worker, Doing::transferring);
  s.pulls.waiting.push_back({exchange, share, 0});
  pump(worker, false);
}

void SyncRun::send_pull(std::uint32_t worker, const Lane::Message& message) {
  const SyncShare& part = job_.exchanges[message.exchange].shares[message.share];
  const bool is_local = job_.servers[part.server].node == job_.workers[worker].node;
  payload_ += part.payload_pull;
  const auto arrived = [this, worker, message] {
    workers_[worker].pulls.under_way -=
        job_.exchanges[message.exchange].shares[message.share].payload_pull;
    --workers_[worker].pulls.messages_under_way;
    pulled(worker, message.exchange);
    pump(worker, false);
  };
  network_.after(is_local ? job_.host_link_startup_s : part.pull_startup,
                 [this, worker, message, is_local, arrived] {
                   const SyncShare& p = job_.exchanges[message.exchange].shares[message.share];
                   const double bytes = is_local ? p.payload_pull : p.pull_bytes;
                   if (bytes <= 0) return arrived();
                   network_.start_flow(route_to(worker, p.server, false), bytes, arrived);
                 });
}

void SyncRun::pulled(std::uint32_t worker, std::uint32_t exchange) {
  if (--workers_[worker].pulls_left[exchange] > 0) return;
  const SyncExchange& e = job_.exchanges[exchange];
  // Decoded and handed to the node's other GPUs; what is only counted here takes effect after that.
  ++workers_[worker].pulls_left[exchange];
  network_.after(e.decode_s + e.broadcast_s, [this, worker, exchange] {
    WorkerState& s = workers_[worker];
    --s.pulls_left[exchange];
    ++s.exchanges_here;
    if (job_.spec.mode == SyncMode::elastic) {
      if (s.exchanges_here < job_.exchanges.size()) return;
      Pushed& mine = s.pushed[s.step];
      mine = {.read_version = s.reading_version};
      for (const SyncExchange& x : job_.exchanges) mine.left += x.shares.size();
      for (std::size_t x = 0; x < job_.exchanges.size(); ++x)
        push_all(worker, x, s.step);  // nobody waits for the difference to arrive
      ++s.step;
      begin_step(worker);
      return;
    }
    if (!s.is_blocked_on_pull) return;
    if (job_.spec.server.overlap_pull) {
      if (s.is_forward && exchange == job_.exchanges.size() - 1 - s.piece) {
        s.is_blocked_on_pull = false;
        next_piece(worker);
      }
      return;
    }
    if (s.exchanges_here == job_.exchanges.size()) finish_step(worker);
  });
}
}  // namespace stepcast
