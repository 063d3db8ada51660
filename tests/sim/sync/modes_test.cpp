#include <algorithm>
#include <map>
#include <set>

#include "tests/sim/sync/sync_jobs.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;
namespace {
/// Largest lead in own steps of any worker over the slowest, at any update.
int largest_lead(const SyncOutcome& out, int workers) {
  std::vector<int> clock(static_cast<std::size_t>(workers), 0);
  int lead = 0;
  for (const SyncUpdate& u : out.updates) {
    ++clock[static_cast<std::size_t>(u.worker)];
    lead = std::max(lead, *std::max_element(clock.begin(), clock.end()) -
                              *std::min_element(clock.begin(), clock.end()));
  }
  return lead;
}
}  // namespace

TEST_CASE("no worker runs ahead of the slowest by more than the bound plus its own step",
          "[sync]") {
  for (const int bound : {0, 1, 3}) {
    SyncJob job = sync_job(SyncMode::ssp, 4, 2, 1e6);
    job.spec.staleness = bound;
    job.workers[2].slowdown = 5;
    INFO("bound " << bound);
    CHECK(largest_lead(run(job), 4) <= bound + 1);
  }
}

TEST_CASE("a bound of zero goes at the pace of lockstep and a loose one lets the fast ones through",
          "[sync]") {
  SyncJob job = sync_job(SyncMode::ssp, 4, 2, 1e6);
  job.workers[2].slowdown = 2;
  const double strict = run(job).samples_per_s;
  job.spec.mode = SyncMode::bsp;
  CHECK(strict == Approx(run(job).samples_per_s).epsilon(0.02));
  job.spec.mode = SyncMode::async;
  const SyncOutcome async = run(job);
  // Three workers at 1/3 per second and one at 1/6: 1.1667 samples/s against 4/6 in lockstep
  CHECK(async.samples_per_s == Approx(7.0 / 6).epsilon(0.03));
  job.spec.mode = SyncMode::ssp;
  job.spec.staleness = 2;
  const double bounded = run(job).samples_per_s;
  CHECK(bounded >= strict * (1 - 1e-9));
  CHECK(bounded <= async.samples_per_s * 1.01);
}

TEST_CASE("asynchronous staleness is the number of other workers when all are equal", "[sync]") {
  // Between a worker's read and its push every other worker pushes once: n - 1
  SyncJob job = sync_job(SyncMode::async, 6, 1, 1e6);
  for (std::size_t w = 0; w < 6; ++w) job.workers[w].slowdown = 1 + 1e-3 * static_cast<double>(w);
  const SyncOutcome out = run(job);
  CHECK(out.mean_staleness == Approx(5).epsilon(0.05));
}

TEST_CASE("the log replays: every read version was reached before its update and orders count up",
          "[sync]") {
  SyncJob job = sync_job(SyncMode::async, 5, 2, 0.3e9);
  job.workers[0].slowdown = 1.7;
  const SyncOutcome out = run(job);
  std::int64_t order = 0;
  double time = 0;
  for (const SyncUpdate& u : out.updates) {
    CHECK(u.order == order++);
    CHECK(u.read_version <= u.order);
    CHECK(u.staleness == u.order - u.read_version);
    CHECK(u.time_s >= time);
    time = u.time_s;
  }
  CHECK(update_log_csv(out).rfind("order,time_s,worker,step,read_version,staleness,peer,dropped\n",
                                  0) == 0);
}

TEST_CASE("backup workers let the update go without the slowest and drop what it sends", "[sync]") {
  for (const int servers : {0, 1}) {
    SyncJob job = sync_job(SyncMode::bsp, 4, servers, 1e6);
    if (servers == 0) job.exchanges[0].shares.clear();
    job.workers[3].slowdown = 3;
    const double all = run(job).step_times.back();
    job.spec.backup_workers = 1;
    const SyncOutcome out = run(job);
    INFO("servers " << servers);
    // 9 s with everybody, 3 s without the slow one; a step of the batch then takes 4/3 of the step
    // that three replicas make
    CHECK(all == Approx(9).epsilon(0.01));
    CHECK(out.samples_per_s == Approx(3.0 / 3).epsilon(0.02));
    CHECK(out.dropped > 0);
  }
}

TEST_CASE("local SGD meets once a period and averages out jitter in between", "[sync]") {
  SyncJob job = sync_job(SyncMode::local_sgd, 4, 0, 0);
  job.round.startup_s = 6;
  job.steps = 24;
  job.spec.period = 1;
  // compute 3 s, exchange 6 s: 9 s a step; every 6 steps: 3 + 1 = 4 s
  CHECK(run(job).samples_per_s == Approx(4.0 / 9));
  job.spec.period = 6;
  CHECK(run(job).samples_per_s == Approx(4.0 / 4));
  for (SyncWorker& w : job.workers) w.jitter_sigma = 0.3;
  const double rare = run(job).samples_per_s * 1;
  job.spec.period = 1;
  job.round.startup_s = 1;  // the same exchange per step
  CHECK(rare > run(job).samples_per_s);
}

TEST_CASE("gossip on a ring waits for neighbours only and random peers for nobody", "[sync]") {
  SyncJob job = sync_job(SyncMode::gossip, 6, 0, 0);
  job.message_bytes = job.payload_message_bytes = 1e9;
  // ring: two messages out of one port: 2 s; 3 s of compute: 5 s
  CHECK(run(job).samples_per_s == Approx(6.0 / 5));
  job.workers[0].slowdown = 4;
  job.steps = 200;
  const double ring = run(job).samples_per_s;
  job.spec.peers = GossipPeers::random;
  const SyncOutcome random = run(job);
  CHECK(random.samples_per_s > ring);
  for (const SyncUpdate& u : random.updates) CHECK(u.peer != u.worker);
}

TEST_CASE("elastic averaging exchanges once a period and does not wait for others", "[sync]") {
  SyncJob job = sync_job(SyncMode::elastic, 3, 1, 0.3e9);
  job.steps = 40;
  job.spec.period = 4;
  job.workers[2].slowdown = 2;
  const SyncOutcome out = run(job);
  // Two workers at 3 s a step, one at 6 s, and a short exchange each fourth step: near 2/3 + 1/6
  // samples/s
  CHECK(out.samples_per_s == Approx(5.0 / 6).epsilon(0.08));
  CHECK(out.mean_staleness > 0);
}

TEST_CASE("each worker's seconds per step have one owner and the same seed gives the same run",
          "[sync]") {
  SyncJob job = sync_job(SyncMode::ssp, 4, 2, 0.5e9);
  job.spec.staleness = 1;
  for (SyncWorker& w : job.workers) w.jitter_sigma = 0.1;
  const SyncOutcome a = run(job), b = run(job);
  CHECK(update_log_csv(a) == update_log_csv(b));
  for (const Breakdown& breakdown : a.per_worker) {
    double sum = 0;
    for (const double s : breakdown) sum += s;
    CHECK(sum == Approx(4.0 / a.samples_per_s).epsilon(0.15));
  }
  job.seed = 2;
  CHECK(update_log_csv(run(job)) != update_log_csv(a));
}
