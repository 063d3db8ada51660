// Lanes and work of a step: what may start, and how long a segment takes.
#include "sim/engine/executor/step_run.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"

namespace stepcast {
namespace {
constexpr auto kCompute = static_cast<std::size_t>(Lane::compute);
}  // namespace

StepRun::StepRun(const Job& job, Network& network, const ExecuteOptions& options)
    : job_(job),
      network_(network),
      workers_(job.workers.size()),
      rendezvous_(job.groups.size() * kLanes),
      messages_(job),
      unfinished_(job.workers.size()) {
  STEPCAST_ASSERT(network.now() == 0 && !job.workers.empty(),
                  "a step runs on a network of its own");
  for (std::size_t i = 0; i < job.links.size(); ++i) {
    const LinkId id = network.link(job.links[i].name, job.links[i].capacity.value);
    STEPCAST_ASSERT(id == i, "a fresh network numbers its links from 0, as routes do");
  }
  for (const Program& program : job.programs)
    shares_.emplace_back(program.segments.begin(), program.segments.end());
  if (options.record_timeline) recorder_.emplace(job, options.detail_workers);
  attach_supply(options);
  if (options.record_op_times) op_times_.resize(job.workers.size());
}

StepOutcome StepRun::run() {
  schedule_link_events();
  network_.after(0, [this] { begin(); });
  network_.run();
  if (unfinished_ > 0) report_deadlock();
  return outcome();
}

void StepRun::begin() {
  for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
    WorkerState& state = workers_[worker];
    const double data_wait = job_.workers[worker].data_wait,
                 pause = data_wait + job_.workers[worker].pause;
    state.host_free = -job_.workers[worker].host_lead;
    if (pause > 0) {
      // The rank stands still, host and GPU; its other lanes may serve what does not need it.
      state.host_free += pause;
      state.lanes[kCompute].is_busy = state.is_computing = true;
      network_.after(pause, [this, worker, data_wait] {
        WorkerState& resumed = workers_[worker];
        resumed.breakdown[static_cast<std::size_t>(Category::data_stall)] += data_wait;
        resumed.breakdown[static_cast<std::size_t>(Category::other)] += network_.now() - data_wait;
        resumed.lanes[kCompute].is_busy = resumed.is_computing = false;
        resumed.mark = network_.now();
        advance(worker);
      });
    }
    advance(worker);
  }
}

bool StepRun::is_ready(std::uint32_t worker, const ProgramOp& op) const {
  const Program& program = program_of(worker);
  for (std::uint32_t i = 0; i < op.dependency_count; ++i) {
    const Dependency& dependency = program.dependencies[op.first_dependency + i];
    if (workers_[worker].lanes[static_cast<std::size_t>(dependency.lane)].done <=
        dependency.position)
      return false;
  }
  return true;
}

void StepRun::advance(std::uint32_t worker) {
  WorkerState& state = workers_[worker];
  if (state.is_advancing) {
    state.is_again = true;
    return;
  }
  state.is_advancing = true;
  do {
    state.is_again = false;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (state.lanes[lane].is_busy || !has_head(worker, lane)) continue;
      const ProgramOp& op = head(worker, lane);
      if (is_ready(worker, op)) start(worker, lane, op);
    }
  } while (state.is_again);
  state.is_advancing = false;
  renew_owner(worker);
  if (state.is_done) return;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    if (state.lanes[lane].is_busy || has_head(worker, lane)) return;
  state.is_done = true;
  state.finish = network_.now();
  if (--unfinished_ == 0)
    for (const Network::Handle timer : link_event_timers_) network_.cancel_timer(timer);
}

void StepRun::start(std::uint32_t worker, std::size_t lane, const ProgramOp& op) {
  LaneState& state = workers_[worker].lanes[lane];
  state.is_busy = true;
  state.since = network_.now();
  if (!op_times_.empty()) op_times_[worker][lane].push_back({.start = state.since});
  switch (op.kind) {
    case GraphOp::Kind::work:
      return start_work(worker, lane, op);
    case GraphOp::Kind::collective:
      return arrive(worker, lane, op);
    case GraphOp::Kind::send:
      return send(worker, lane, op);
    case GraphOp::Kind::recv:
      return receive(worker, lane, op);
    case GraphOp::Kind::load:
      return load(worker, lane);
  }
}

void StepRun::complete(std::uint32_t worker, std::size_t lane) {
  LaneState& state = workers_[worker].lanes[lane];
  STEPCAST_ASSERT(state.is_busy, "only an op under way completes");
  state.is_busy = false;
  ++state.done;
  if (!op_times_.empty()) op_times_[worker][lane].back().end = network_.now();
  advance(worker);
}

double StepRun::slowdown_of(std::uint32_t worker, std::size_t lane) const {
  const double usual = drawn_slowdown(worker, lane);
  const std::int32_t disturbance = job_.workers[worker].disturbance;
  if (disturbance < 0) return usual;
  const Moment moment{job_.run_seed, job_.step,
                      (static_cast<std::uint64_t>(lane) << 32) | workers_[worker].lanes[lane].done,
                      job_.clock_s + network_.now()};
  const double work = usual * program_of(worker).segments[head(worker, lane).index].scaled;
  return usual * job_.disturbances[static_cast<std::size_t>(disturbance)].stretch(moment, work);
}

// Lognormal with mean 1 (mu = -sigma^2 / 2), one draw per rank and op; the lockstep group goes at
// its slowest.
double StepRun::drawn_slowdown(std::uint32_t worker, std::size_t lane) const {
  const Worker& w = job_.workers[worker];
  if (w.jitter_sigma <= 0) return w.slowdown;
  const std::uint64_t op =
      (static_cast<std::uint64_t>(lane) << 32) | workers_[worker].lanes[lane].done;
  double slowest = -1e300;
  for (int rank = w.first_rank; rank < w.first_rank + std::max(1, w.jitter_ranks); ++rank)
    slowest = std::max(slowest, normal_from_bits(mixed_bits(
                                    mixed_bits(job_.seed, static_cast<std::uint64_t>(rank)), op)));
  return w.slowdown * std::exp(w.jitter_sigma * slowest - 0.5 * w.jitter_sigma * w.jitter_sigma);
}

void StepRun::start_work(std::uint32_t worker, std::size_t lane, const ProgramOp& op) {
  WorkerState& state = workers_[worker];
  const Segment& segment = program_of(worker).segments[op.index];
  const double slowdown = slowdown_of(worker, lane), now = network_.now();
  if (lane != kCompute) {
    // Beside compute (data loading, decoding): no launches, and communication does not slow it.
    const bool decodes = op.category == Category::compression;
    if (decodes) change_decoding(worker, 1);
    network_.after(slowdown * segment.scaled + segment.fixed,
                   [this, worker, decodes, lane = static_cast<std::uint8_t>(lane)] {
                     if (decodes) change_decoding(worker, -1);
                     if (recorder_)
                       recorder_->span(worker, static_cast<Lane>(lane), head(worker, lane),
                                       head(worker, lane).category,
                                       workers_[worker].lanes[lane].since, network_.now());
                     complete(worker, lane);
                   });
    return;
  }
  settle(state);
  if (op.host_waits) state.host_free = std::max(state.host_free, now);
  state.clock.start(segment, now, state.host_free, slowdown);
  if (!op_times_.empty()) {
    op_times_[worker][lane].back().host_start = state.host_free;
    op_times_[worker][lane].back().slowdown = slowdown;
  }
  state.host_free += segment.host;
  if (const double speed = speed_of(state); speed != 1) state.clock.set_speed(now, speed);
  const double finish = state.clock.finish();
  if (finish <= now) return complete(worker, lane);
  change_computing(worker, true);
  state.timer = network_.after(finish - now, [this, worker] { finish_segment(worker); });
}

double StepRun::speed_of(const WorkerState& state) const {
  double slowdown = 1;
  if (state.on_wire > 0) slowdown = std::max(slowdown, job_.compute_slowdown_in_overlap);
  if (state.decoding > 0) slowdown = std::max(slowdown, job_.compute_slowdown_beside_codec);
  return 1 / (1 + state.clock.scaled_share() * (slowdown - 1));
}

void StepRun::finish_segment(std::uint32_t worker) {
  WorkerState& state = workers_[worker];
  const double now = network_.now(), gap = state.clock.launch_gap(now),
               busy = now - state.clock.start_date() - gap;
  const ProgramOp& op = head(worker, kCompute);
  shares_[job_.workers[worker].program][op.index].book(busy, state.clock.segment().fixed,
                                                       state.breakdown);
  state.breakdown[static_cast<std::size_t>(Category::launch_gap)] += gap;
  state.compute_seconds += busy;
  if (recorder_) recorder_->segment(worker, op, state.clock, now, gap);
  change_computing(worker, false);
  state.timer = 0;
  state.mark = now;
  complete(worker, kCompute);
}

void StepRun::change_on_wire(std::uint32_t worker, int by) {
  const double before = speed_of(workers_[worker]);
  workers_[worker].on_wire += by;
  change_speed(worker, before);
}
void StepRun::change_decoding(std::uint32_t worker, int by) {
  const double before = speed_of(workers_[worker]);
  workers_[worker].decoding += by;
  change_speed(worker, before);
}
void StepRun::change_speed(std::uint32_t worker, double before) {
  WorkerState& state = workers_[worker];
  if (state.timer == 0 || speed_of(state) == before) return;
  const double now = network_.now();
  state.clock.set_speed(now, speed_of(state));
  network_.cancel_timer(state.timer);
  state.timer = network_.after(std::max(0.0, state.clock.finish() - now),
                               [this, worker] { finish_segment(worker); });
}

void StepRun::schedule_link_events() {
  for (const LinkEvent& event : job_.link_events) {
    STEPCAST_ASSERT(
        event.node >= 0 && static_cast<std::size_t>(event.node) < job_.node_ports.size(),
        "link events name nodes of the cluster");
    const auto apply = [this, &event] {
      for (const LinkId port : job_.node_ports[static_cast<std::size_t>(event.node)])
        network_.set_capacity(port, job_.links[port].capacity.value * event.capacity_factor);
    };
    if (event.at_s <= 0)
      apply();
    else
      link_event_timers_.push_back(network_.after(event.at_s, apply));
  }
}
}  // namespace stepcast
