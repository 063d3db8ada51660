#include "sim/engine/step_executor.hpp"

#include <cmath>
#include <set>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "tests/sim/engine/run_step.hpp"

using namespace stepcast;
using namespace stepcast::tests;

TEST_CASE("a collective starts when its last worker arrives", "[executor]") {
  // Worker 0 computes 1 s, worker 1 is 3x slower. At 3 s: start-up 0.5 s, then 20 B at 10 B/s: 5.5
  // s. Worker 0: 1 s compute, 2 s waiting for the straggler, 2.5 s exposed.
  Job job = two_replicas(1);
  job.workers[1].slowdown = 3;
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(5.5));
  REQUIRE(outcome.critical_worker == 1);
  REQUIRE(seconds_of(outcome.per_worker[0], Category::compute) == near(1));
  REQUIRE(seconds_of(outcome.per_worker[0], Category::straggler_wait) == near(2));
  REQUIRE(seconds_of(outcome.per_worker[0], Category::exposed_dp) == near(2.5));
  REQUIRE(seconds_of(outcome.breakdown, Category::compute) == near(3));
  REQUIRE(seconds_of(outcome.breakdown, Category::exposed_dp) == near(2.5));
  REQUIRE(outcome.payload_bytes[static_cast<std::size_t>(GroupKind::dp)] == near(40));
  // Each link: 20 B of 10 B/s x 5.5 s.
  REQUIRE(outcome.busiest.size() == 2);
  REQUIRE(outcome.busiest[0].utilisation == near(20 / 55.0));
}

TEST_CASE("intra-node serialisation and flows of a collective run at the same time", "[executor]") {
  // start-up 0.5 + max(intra 3, flows 2) after 1 s of compute: 4.5 s.
  Job job = two_replicas(1);
  job.programs[0].transfers[0].terms.intra = Seconds(3);
  REQUIRE(run(job, any_engine()).step_s == near(4.5));
}

TEST_CASE("merged sibling edges carry their weight in bytes", "[executor]") {
  // Edge 0 stands for 4 siblings: 80 B at 10 B/s = 8 s. 1 + 0.5 + 8.
  Job job = two_replicas(1);
  job.groups[0].edges[0].weight = 4;
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(9.5));
  REQUIRE(outcome.payload_bytes[static_cast<std::size_t>(GroupKind::dp)] == near(100));
}

TEST_CASE("a folded worker counts the payload of all its replicas", "[executor]") {
  // One worker stands for 8 replicas, its single ring edge for 8: 20 B x 8.
  Job job;
  ProgramBuilder program(job.names);
  program.work("backward", 1.0);
  program.collective(20, 0, {after(Lane::compute, 0)});
  job.programs.push_back(program.program);
  add_worker(job, 0);
  job.workers[0].multiplicity = 8;
  add_group(job, {0}, {{add_link(job, 10)}});
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(3));
  REQUIRE(outcome.payload_bytes[static_cast<std::size_t>(GroupKind::dp)] == near(160));
}

TEST_CASE("a collective without peers is a plain delay", "[executor]") {
  // No group: compute 1 s, start-up 0.5 s, no flows.
  Job job = two_replicas(1);
  job.workers.pop_back();
  job.workers[0].group.fill(-1);
  job.groups.clear();
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(1.5));
  REQUIRE(seconds_of(outcome.breakdown, Category::exposed_dp) == near(0.5));
}

TEST_CASE("a reduction hides behind the compute that does not need it", "[executor]") {
  // Bucket 0 leaves at 1 s (2 s on the wire), compute goes on until 4 s; bucket 1 leaves at 4 s: 6
  // s. Exposed 2 s.
  Job job;
  ProgramBuilder program(job.names);
  program.work("backward", 1.0);
  program.work("backward", 3.0);
  program.collective(20, 0, {after(Lane::compute, 0)});
  program.collective(20, 0, {after(Lane::compute, 1)});
  program.work("optimizer", 0.5, {after(Lane::gradient, 1)});
  job.programs.push_back(program.program);
  add_worker(job, 0);
  add_worker(job, 0);
  add_group(job, {0, 1}, {{add_link(job, 10)}, {add_link(job, 10)}});
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(6.5));
  REQUIRE(seconds_of(outcome.breakdown, Category::exposed_dp) == near(2));
  REQUIRE(seconds_of(outcome.breakdown, Category::compute) == near(4.5));
}

TEST_CASE("two rings on one link take turns by halves", "[executor]") {
  // Both groups' edges cross one 10 B/s link: 2 x 20 B at 5 B/s each: 4 s. Without sharing 2 s.
  Job job;
  ProgramBuilder program(job.names);
  program.work("backward", 1.0);
  program.collective(20, 0, {after(Lane::compute, 0)});
  job.programs.push_back(program.program);
  const LinkId shared = add_link(job, 10);
  for (int group = 0; group < 2; ++group) {
    const auto worker = add_worker(job, 0, 0, group);
    add_group(job, {worker}, {{shared}});
  }
  REQUIRE(run(job, EngineKind::native).step_s == near(5));
  REQUIRE(run(job, EngineKind::simgrid).step_s == near(5));
  REQUIRE(run(job, EngineKind::analytic).step_s == near(3));
}

TEST_CASE("a two-stage 1F1B pipeline keeps its exact dates", "[executor]") {
  // F 1 s, B 2 s, message 5 B at 10 B/s + 0.25 s latency = 0.75 s. m = 2 micro-batches.
  //   stage 0: F0 0-1, F1 1-2, B0 from the gradient's arrival, B1
  //   stage 1: act0 at 1.75: F0 1.75-2.75, B0 2.75-4.75; act1 at 2.75 (sent at 2); F1 4.75-5.75,
  //   B1 5.75-7.75 stage 0: grad0 at 5.5: B0 5.5-7.5; grad1 at 8.5: B1 8.5-10.5
  // stage 0: compute 6; waits 2-5.5: the message was sent at 4.75: bubble 2.75, exposed 0.75;
  // waits 7.5-8.5: sent at 7.75: bubble 0.25, exposed 0.75. stage 1: compute 6; 0-1.75: bubble 1,
  // exposed 0.75; grad1 leaves 7.75-8.5: exposed 0.75; then 2.
  Job job;
  for (int stage = 0; stage < 2; ++stage) {
    ProgramBuilder program(job.names);
    const int peer = 1 - stage;
    if (stage == 0) {
      for (std::uint32_t m = 0; m < 2; ++m) {
        program.work("forward", 1.0);
        program.send(peer, m, 5, {after(Lane::compute, m)});
        program.receive(peer, m);
      }
      for (std::uint32_t m = 0; m < 2; ++m) program.work("backward", 2.0, {after(Lane::recv, m)});
    } else {
      for (std::uint32_t m = 0; m < 2; ++m) {
        program.receive(peer, m);
        program.work("forward", 1.0, {after(Lane::recv, m)});
        program.work("backward", 2.0);
        program.send(peer, m, 5, {after(Lane::compute, 2 * m + 1)});
      }
    }
    job.programs.push_back(program.program);
    add_worker(job, static_cast<std::uint32_t>(stage), stage);
  }
  for (std::uint32_t from = 0; from < 2; ++from)
    job.channels.push_back({from, 1 - from, {{{add_link(job, 10)}, 1}}, Seconds(0.25)});
  const StepOutcome outcome = run(job, any_engine(), {true, 2});
  REQUIRE(outcome.step_s == near(10.5));
  REQUIRE(outcome.critical_worker == 0);
  REQUIRE(seconds_of(outcome.breakdown, Category::compute) == near(6));
  REQUIRE(seconds_of(outcome.breakdown, Category::bubble) == near(3));
  REQUIRE(seconds_of(outcome.breakdown, Category::exposed_pp) == near(1.5));
  REQUIRE(outcome.finish_s[1] == near(8.5));
  REQUIRE(seconds_of(outcome.per_worker[1], Category::exposed_pp) == near(1.5));
  REQUIRE(seconds_of(outcome.per_worker[1], Category::bubble) == near(3));
  REQUIRE(outcome.payload_bytes[static_cast<std::size_t>(GroupKind::pp)] == near(20));
  REQUIRE(outcome.timeline.has_value());
  REQUIRE(outcome.timeline->flows.size() == 4);
  REQUIRE(outcome.timeline->flows.front().from == 1'000'000'000);
  REQUIRE(outcome.timeline->flows.front().to == 1'750'000'000);
  for (const Span& span : outcome.timeline->spans) REQUIRE(span.end <= 10'500'000'000);
  // Sends tell what they move and where to.
  std::set<std::string> ways;
  for (const Span& span : outcome.timeline->spans) {
    if (outcome.timeline->names.text_of(span.name) != "send") continue;
    REQUIRE(span.payload >= 0);
    const Payload& payload = outcome.timeline->payloads[static_cast<std::size_t>(span.payload)];
    REQUIRE(payload.collective == "send_recv");
    REQUIRE(payload.bytes == 5);
    ways.insert(payload.group);
  }
  REQUIRE(ways == std::set<std::string>{"pp: rank 0 to 1", "pp: rank 1 to 0"});
}

TEST_CASE("a pause delays the first compute op and is its own time", "[executor]") {
  Job job = two_replicas(1);
  job.workers[0].pause = 4;
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(7.5));  // 4 + 1 + 0.5 + 2
  REQUIRE(seconds_of(outcome.per_worker[0], Category::other) == near(4));
  REQUIRE(seconds_of(outcome.per_worker[1], Category::straggler_wait) == near(4));
}

TEST_CASE("jitter is lognormal with mean one and the slowest of the lockstep ranks counts",
          "[executor]") {
  Job job = two_replicas(1);
  job.seed = 5;
  for (Worker& worker : job.workers) {
    worker.jitter_sigma = 0.1;
    worker.jitter_ranks = 1;
  }
  // 1 s x exp(0.1 z - 0.005) of the slower worker + 2.5 s, z drawn from (seed, rank, op 0).
  double slowest = 0;
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    slowest = std::max(
        slowest, std::exp(0.1 * normal_from_bits(mixed_bits(mixed_bits(5, rank), 0)) - 0.005));
  REQUIRE(run(job, any_engine()).step_s == near(slowest + 2.5));

  // Many seeds: the mean of one rank's factor is 1 (standard error 0.1 / sqrt(4000) = 0.0016); of
  // the slowest of 8, exp(0.1 * 1.4236 ...) about 1.15.
  Job alone;
  ProgramBuilder program(alone.names);
  program.work("forward", 1.0);
  alone.programs.push_back(program.program);
  add_worker(alone, 0);
  alone.workers[0].jitter_sigma = 0.1;
  for (const auto& [ranks, expected] : {std::pair{1, 1.0}, std::pair{8, 1.15}}) {
    alone.workers[0].jitter_ranks = ranks;
    double sum = 0;
    for (alone.seed = 1; alone.seed <= 4000; ++alone.seed)
      sum += execute_step(alone, *make_network(EngineKind::native)).step_s;
    REQUIRE(sum / 4000 == Approx(expected).epsilon(0.007));
  }
}

TEST_CASE("a link event changes the flows under way", "[executor]") {
  // Reduction from 1.5 s, 20 B at 10 B/s; at 2.5 s the node's port drops to half: 10 B left at 5
  // B/s: 4.5 s.
  Job job = two_replicas(1);
  job.node_ports = {{0}, {1}};
  job.link_events = {{0, 2.5, 0.5}, {1, 100, 0.1}};
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(4.5));
}

TEST_CASE("a step that cannot go on names two waiting workers and their ops", "[executor]") {
  Job job;
  for (int stage = 0; stage < 2; ++stage) {
    ProgramBuilder program(job.names);
    program.receive(1 - stage, 0);
    program.work("forward", 1.0, {after(Lane::recv, 0)});
    program.send(1 - stage, 0, 5, {after(Lane::compute, 0)});
    job.programs.push_back(program.program);
    add_worker(job, static_cast<std::uint32_t>(stage), stage);
  }
  for (std::uint32_t from = 0; from < 2; ++from)
    job.channels.push_back({from, 1 - from, {}, Seconds(0)});
  const auto network = make_network(any_engine());
  REQUIRE_THROWS_WITH(
      execute_step(job, *network),
      "the step cannot go on: worker 0 (stage 0, replica 0) waits in 'forward' (op 0 of lane "
      "compute, not started); "
      "worker 1 (stage 1, replica 0) waits in 'forward' (op 0 of lane compute, not started)");
}

TEST_CASE("data loading beside the GPU owns the wait for it", "[executor]") {
  // Data 3 s on its lane, forward needs it: 3 s stall, then 1 s.
  Job job;
  ProgramBuilder program(job.names);
  program.work("data", 3.0, {}, Lane::data).category = Category::data_stall;
  program.work("forward", 1.0, {after(Lane::data, 0)});
  job.programs.push_back(program.program);
  add_worker(job, 0);
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(4));
  REQUIRE(seconds_of(outcome.breakdown, Category::data_stall) == near(3));
}
