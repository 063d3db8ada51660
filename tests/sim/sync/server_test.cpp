#include "tests/sim/sync/sync_jobs.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("one worker and one server take forward and backward and push and pull one after another",
          "[sync]") {
  // 3 s of compute, 1 GB each way at 1 GB/s: 5 s a step
  const SyncOutcome out = run(sync_job(SyncMode::async, 1, 1, 1e9));
  REQUIRE(out.step_times.size() > 5);
  for (const double step : out.step_times) CHECK(step == Approx(5));
  CHECK(out.samples_per_s == Approx(0.2));
}

TEST_CASE("a synchronous step shares the server's port among all workers in both directions",
          "[sync]") {
  // 4 workers push 1 GB each into one port: 4 s; the pulls leave through one port: 4 s; with 3 s of
  // compute: 11 s
  const SyncOutcome one = run(sync_job(SyncMode::bsp, 4, 1, 1e9));
  CHECK(one.step_times.back() == Approx(11));
  // Four servers with a quarter each: every worker's own port carries 1 GB: 1 s and 1 s
  const SyncOutcome four = run(sync_job(SyncMode::bsp, 4, 4, 1e9));
  CHECK(four.step_times.back() == Approx(5));
}

TEST_CASE("a slow summing server is the bottleneck and reports itself busy", "[sync]") {
  // 2 workers, 1 GB each summed at 0.25 GB/s: 8 s of server time; pushes overlap the queue. First
  // push is in at 3 + 2 s (two share the port), both queue: 8 s, pulls 2 s: 3 + 2 + 8 + 2 = 15 s a
  // step; busy 8 of 15
  SyncJob job = sync_job(SyncMode::bsp, 2, 1, 1e9);
  job.summation_Bps = 0.25e9;
  const SyncOutcome out = run(job);
  CHECK(out.step_times.back() == Approx(15));
  CHECK(out.servers[0].utilisation == Approx(8.0 / 15).epsilon(0.02));
}

TEST_CASE(
    "a server that updates takes its passes once a synchronous step and once a push otherwise",
    "[sync]") {
  // sum 1 s per push, update 3 passes = 3 s. bsp, 2 workers: 1 + 1 + 3 = 5 s; without update 2 s
  SyncJob job = sync_job(SyncMode::bsp, 2, 1, 1e9);
  job.summation_Bps = 1e9;
  const double summing = run(job).step_times.back();
  job.spec.server.updates = true;
  job.spec.server.update_passes = 3;
  CHECK(run(job).step_times.back() == Approx(summing + 3));
}

TEST_CASE("overlapped pulls in order of need let the next forward start before the last of them",
          "[sync]") {
  // Three buckets, backward 1 s each after a forward of 1 s: ready at 2, 3, 4; pushes 0.4 s,
  // pulls 2.2 s, one at a time. Bucket 0 is pulled from 2.4 to 4.6. Bucket 2 (the first layers) is
  // in at 4.4 and goes next, to 6.8; bucket 1 to 9.0. Waiting for all: 9 s. Overlapped: the
  // forward's first third runs at 6.8, the other two after 9.0: 9.667 when the next backward starts
  // in place of 10, so 8.667 s a step.
  SyncJob job = sync_job(SyncMode::bsp, 1, 1, 0.4e9);
  job.exchanges[0].backward = {1, 0};
  job.exchanges[0].shares[0].pull_bytes = job.exchanges[0].shares[0].payload_pull = 2.2e9;
  job.exchanges.push_back(job.exchanges[0]);
  job.exchanges.push_back(job.exchanges[0]);
  job.credit_bytes = 1;
  CHECK(run(job).step_times.back() == Approx(9));
  job.spec.server.overlap_pull = true;
  CHECK(run(job).step_times.back() == Approx(9 - 1.0 / 3).epsilon(0.02));
}

TEST_CASE("a colocated server of the own node is reached without the network", "[sync]") {
  SyncJob job = sync_job(SyncMode::async, 1, 1, 1e9);
  job.servers[0].node = 0;
  const SyncOutcome out = run(job);
  CHECK(out.step_times.back() == Approx(3).epsilon(1e-4));
  CHECK(out.servers[0].rx_utilisation == 0);
}

TEST_CASE("bytes sent are those of every push and pull", "[sync]") {
  // 4 workers, 20 steps, 1 GB each way; the last pulls may still be under way when the count is
  // full
  const SyncOutcome out = run(sync_job(SyncMode::bsp, 4, 2, 1e9));
  CHECK(out.bytes_sent == Approx(4 * 20 * 2e9).epsilon(0.06));
}

TEST_CASE("both engines give the same updates at the same times", "[sync]") {
  SyncJob job = sync_job(SyncMode::async, 5, 2, 0.7e9);
  for (std::size_t w = 0; w < 5; ++w)
    job.workers[w].slowdown = 1 + 0.013 * static_cast<double>(w);  // no two events at once
  job.workers[3].jitter_sigma = 0.2;
  const SyncOutcome a = run(job, EngineKind::native), b = run(job, EngineKind::simgrid);
  REQUIRE(a.updates.size() == b.updates.size());
  for (std::size_t i = 0; i < a.updates.size(); ++i) {
    CHECK(a.updates[i].worker == b.updates[i].worker);
    CHECK(a.updates[i].time_s == Approx(b.updates[i].time_s).epsilon(1e-9));
  }
}
