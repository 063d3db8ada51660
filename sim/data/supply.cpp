#include "sim/data/supply.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/data/fair_shares.hpp"

namespace stepcast {
namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kNotYet = -kNever;
/// A stage that nothing limits takes no time.
constexpr double kInstant = 1e300;
}  // namespace

DataSupply::DataSupply(SupplySpec spec) : spec_(std::move(spec)), hosts_(spec_.hosts.size()) {
  STEPCAST_ASSERT(spec_.workers > 0 ? spec_.prefetch > 0 : spec_.prefetch == 0,
                  "reading a scenario gives workers a place for their batches");
  feeds_of_.resize(spec_.consumers.size());
  waits_.assign(spec_.consumers.size(), 0);
  ready_at_.assign(spec_.consumers.size(), 0);
  for (std::uint32_t c = 0; c < spec_.consumers.size(); ++c)
    for (std::uint32_t process = 0; process < spec_.consumers[c].size(); ++process) {
      Feed feed{.host = spec_.consumers[c][process], .consumer = c, .process = process};
      feed.is_busy.assign(static_cast<std::size_t>(std::max(1, spec_.workers)), 0);
      feeds_of_[c].push_back(static_cast<std::uint32_t>(feeds_.size()));
      feeds_.push_back(std::move(feed));
    }
  const int at_work = std::min(spec_.workers, spec_.prefetch);
  // Neither the workers of a process nor the processes of a host are in step with each other.
  std::vector<double> on_host(hosts_.size(), 0), begun(hosts_.size(), 0);
  for (const Feed& feed : feeds_) ++on_host[feed.host];
  for (std::uint32_t feed = 0; feed < feeds_.size(); ++feed) {
    const std::uint32_t host = feeds_[feed].host;
    const double ahead = begun[host]++ / on_host[host];
    for (int i = 0; i < at_work; ++i) begin(feed, i, (i + 1 - ahead) / at_work);
  }
  share();
}

void DataSupply::settle_in(double step_s, int batches_per_step) {
  // The queues are full or empty after as many batches as they hold; two steps more settle the
  // phases.
  const int steps = 2 + (spec_.prefetch + spec_.workers) / std::max(1, batches_per_step);
  for (int batch = 0; batch < steps * batches_per_step; ++batch) {
    for (std::uint32_t c = 0; c < waits_.size(); ++c) ask(c, now());
    for (std::size_t served = take_served().size(); served < waits_.size();
         served += take_served().size())
      advance(next_event());
    advance(now() + step_s / batches_per_step);
  }
  set_clock_to_0();
}

void DataSupply::set_clock_to_0() {
  for (HostState& host : hosts_) {
    settle(host);
    host.settled = 0;
    host.is_dirty = true;
    for (std::vector<Job>& jobs : host.jobs)
      for (Job& job : jobs) job.since -= now_;
  }
  for (Feed& feed : feeds_)
    for (double& moment : feed.complete) moment -= now_;
  for (double& moment : ready_at_) moment -= now_;
  now_ = 0;
  share();
}

void DataSupply::ask(std::uint32_t consumer, double at) {
  STEPCAST_ASSERT(waits_[consumer] == 0, "a consumer takes one batch at a time");
  advance(at);
  waits_[consumer] = 1;
  if (spec_.workers == 0)
    for (const std::uint32_t feed : feeds_of_[consumer]) begin_batches(feed);
  try_take(consumer);
  share();
}

double DataSupply::next_event() const {
  double next = kNever;
  for (const HostState& host : hosts_) next = std::min(next, host.next);
  return next;
}

void DataSupply::advance(double to) {
  while (true) {
    const double next = next_event();
    if (next > to) break;
    now_ = std::max(now_, next);
    std::vector<Job> done;
    for (HostState& host : hosts_) {
      if (host.next > next) continue;
      settle(host);
      host.is_dirty = true;
      for (std::vector<Job>& jobs : host.jobs) {
        const auto is_over = [&](const Job& job) { return job.ends <= next; };
        std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(done), is_over);
        std::erase_if(jobs, is_over);
      }
    }
    for (Job& job : done) finish_stage(std::move(job));
    share();
  }
  now_ = std::max(now_, to);
}

std::vector<std::uint32_t> DataSupply::take_served() {
  std::vector<std::uint32_t> served;
  served.swap(served_);
  return served;
}

void DataSupply::begin_batches(std::uint32_t index) {
  Feed& feed = feeds_[index];
  const std::int64_t places =
      spec_.workers > 0 ? spec_.prefetch : (waits_[feed.consumer] != 0 ? 1 : 0);
  for (std::size_t worker = 0; worker < feed.is_busy.size() && feed.started - feed.taken < places;
       ++worker)
    if (feed.is_busy[worker] == 0) begin(index, static_cast<int>(worker), 1);
}

// `left_share` of the batch is still to do: what is done already is the first part of its time
// without contention.
void DataSupply::begin(std::uint32_t index, int worker, double left_share) {
  Feed& feed = feeds_[index];
  Job job{.feed = index, .batch = feed.started++, .worker = worker};
  feed.is_busy[static_cast<std::size_t>(worker)] = 1;
  feed.complete.push_back(kNotYet);
  const auto seconds = [&](const BatchStage& stage) {
    return stage.amount /
           std::min(stage.cap,
                    spec_.hosts[feed.host].capacity[static_cast<std::size_t>(stage.station)]);
  };
  double done = 0;
  for (const BatchStage& stage : spec_.batch) done += seconds(stage) * (1 - left_share);
  for (; job.stage < spec_.batch.size(); ++job.stage) {
    const BatchStage& stage = spec_.batch[job.stage];
    const double whole = seconds(stage);
    if (left_share == 1 || done < whole) {
      const double left = whole > 0 ? stage.amount * (1 - done / whole) : stage.amount;
      return enter_stage(std::move(job), left);
    }
    done -= whole;
  }
  finish_stage(std::move(job));
}

double DataSupply::drawn_cap(const BatchStage& stage, std::uint32_t feed,
                             std::int64_t batch) const {
  if (stage.station != Station::storage || spec_.latency_sigma <= 0) return stage.cap;
  const double normal =
      normal_from_bits(mixed_bits(mixed_bits(spec_.seed, feed), static_cast<std::uint64_t>(batch)));
  const double factor =
      std::exp(spec_.latency_sigma * normal - 0.5 * spec_.latency_sigma * spec_.latency_sigma);
  return stage.cap / (1 + spec_.latency_share * (factor - 1));
}

void DataSupply::enter_stage(Job job, double amount) {
  const BatchStage& stage = spec_.batch[job.stage];
  HostState& host = hosts_[feeds_[job.feed].host];
  settle(host);
  host.is_dirty = true;
  job.left = amount;
  job.cap = drawn_cap(stage, job.feed, job.batch);
  job.since = now_;
  host.jobs[static_cast<std::size_t>(stage.station)].push_back(job);
}

void DataSupply::finish_stage(Job job) {
  Feed& feed = feeds_[job.feed];
  if (job.stage < spec_.batch.size()) {
    if (feed.consumer < recorded_)
      spans_.push_back({feed.consumer, feed.process, job.worker, spec_.batch[job.stage].station,
                        job.since, now_});
    if (++job.stage < spec_.batch.size()) {
      const double amount = spec_.batch[job.stage].amount;
      return enter_stage(std::move(job), amount);
    }
  }
  feed.complete[static_cast<std::size_t>(job.batch - feed.taken)] = now_;
  feed.is_busy[static_cast<std::size_t>(job.worker)] = 0;
  begin_batches(job.feed);
  try_take(feed.consumer);
}

bool DataSupply::has_batch(std::uint32_t consumer) const {
  return std::all_of(feeds_of_[consumer].begin(), feeds_of_[consumer].end(),
                     [&](std::uint32_t feed) {
                       const std::deque<double>& complete = feeds_[feed].complete;
                       return !complete.empty() && complete.front() != kNotYet;
                     });
}

void DataSupply::try_take(std::uint32_t consumer) {
  if (waits_[consumer] == 0 || !has_batch(consumer)) return;
  waits_[consumer] = 0;
  served_.push_back(consumer);
  ready_at_[consumer] = kNotYet;
  for (const std::uint32_t index : feeds_of_[consumer]) {
    Feed& feed = feeds_[index];
    ready_at_[consumer] = std::max(ready_at_[consumer], feed.complete.front());
    feed.complete.pop_front();
    ++feed.taken;
  }
  for (const std::uint32_t index : feeds_of_[consumer]) begin_batches(index);
}

void DataSupply::settle(HostState& host) {
  const double passed = now_ - host.settled;
  host.settled = now_;
  if (passed <= 0) return;
  for (std::vector<Job>& jobs : host.jobs)
    for (Job& job : jobs) job.left = std::max(0.0, job.left - job.rate * passed);
}

// What every host asks of the common storage, what it gets, and when its next stage ends.
void DataSupply::share() {
  constexpr auto kStorage = static_cast<std::size_t>(Station::storage);
  double asked = 0;
  bool is_changed = false;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    HostState& host = hosts_[h];
    if (host.is_dirty) {
      is_changed = true;
      double caps = 0;
      for (const Job& job : host.jobs[kStorage]) caps += job.cap;
      host.demand = std::min(caps, spec_.hosts[h].capacity[kStorage]);
    }
    asked += host.demand * spec_.hosts[h].multiplicity;
  }
  if (!is_changed) return;
  const double level = asked > spec_.shared_storage ? water_level() : kNever;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    const double granted = std::min(hosts_[h].demand, level);
    if (!hosts_[h].is_dirty && granted == hosts_[h].granted) continue;
    hosts_[h].granted = granted;
    retime(h);
  }
}

double DataSupply::water_level() const {
  std::vector<Demand> demands;
  for (std::size_t h = 0; h < hosts_.size(); ++h)
    demands.push_back({hosts_[h].demand, spec_.hosts[h].multiplicity});
  return fair_level(std::move(demands), spec_.shared_storage);
}

void DataSupply::retime(std::size_t index) {
  HostState& host = hosts_[index];
  settle(host);
  host.is_dirty = false;
  host.next = kNever;
  for (std::size_t station = 0; station < kStations; ++station) {
    std::vector<Job>& jobs = host.jobs[station];
    if (jobs.empty()) continue;
    const double capacity = station == static_cast<std::size_t>(Station::storage)
                                ? host.granted
                                : spec_.hosts[index].capacity[station];
    double caps = 0;
    for (const Job& job : jobs) caps += job.cap;
    double level = kNever;
    if (caps > capacity) {
      std::vector<Demand> demands;
      for (const Job& job : jobs) demands.push_back({job.cap, 1});
      level = fair_level(std::move(demands), capacity);
    }
    for (Job& job : jobs) {
      job.rate = std::min({job.cap, level, kInstant});
      job.ends = now_ + job.left / job.rate;
      host.next = std::min(host.next, job.ends);
    }
  }
}

std::vector<LoaderSpan> DataSupply::spans() const {
  std::vector<LoaderSpan> all = spans_;
  for (const HostState& host : hosts_)
    for (const std::vector<Job>& jobs : host.jobs)
      for (const Job& job : jobs)
        if (const Feed& feed = feeds_[job.feed]; feed.consumer < recorded_)
          all.push_back({feed.consumer, feed.process, job.worker, spec_.batch[job.stage].station,
                         job.since, now_});
  return all;
}

double round_seconds(SupplySpec spec) {
  spec.latency_sigma = 0;
  const int cycle = std::max(1, std::min(spec.workers, spec.prefetch));
  const auto consumers = spec.consumers.size();
  DataSupply supply(std::move(spec));
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      for (std::uint32_t c = 0; c < consumers; ++c) supply.ask(c, supply.now());
      for (std::size_t served = supply.take_served().size(); served < consumers;
           served += supply.take_served().size())
        supply.advance(supply.next_event());
    }
  };
  constexpr int kMost = 400;
  // From the even phases of the start to those of the contention.
  rounds(std::min(kMost, 2 * cycle + 2));
  const double start = supply.now();
  // What is in work at either end of the count blurs it by a few batches.
  const int counted = std::clamp(20 * cycle, 100, kMost);
  rounds(counted);
  return (supply.now() - start) / counted;
}
}  // namespace stepcast
