#include "tests/sim/engine/run_step.hpp"

using namespace stepcast;
using namespace stepcast::tests;

TEST_CASE("a host that issues slowly stretches a segment and owns the gap", "[executor]") {
  // Three kernels of 1 s, launched 2 s apart (issued at 2, 4, 6): the last starts at 6: finish 7,
  // gap 4. Bounds: issued 2 with 3 left, 4 with 2 left, 6 with 1 left -> max(5, 6, 7). Twice as
  // slow: max(8, 8, 8) = 8, gap 2.
  Job job;
  ProgramBuilder program(job.names);
  Segment segment;
  segment.scaled = 3;
  segment.host = 6;
  for (int kernel = 0; kernel < 3; ++kernel) {
    segment.pieces.push_back({job.names.id_of("kernel"), Category::compute, 1, 2, true});
    segment.bounds.push_back({2.0 * (kernel + 1), 3.0 - kernel, 0});
  }
  segment.by_category[0] = 3;
  program.work("forward", segment);
  job.programs.push_back(program.program);
  add_worker(job, 0);
  const StepOutcome outcome = run(job, any_engine(), {true, 1});
  REQUIRE(outcome.step_s == near(7));
  REQUIRE(seconds_of(outcome.breakdown, Category::launch_gap) == near(4));
  REQUIRE(seconds_of(outcome.breakdown, Category::compute) == near(3));
  // Macro span 0-7 and kernels 2-3, 4-5, 6-7.
  REQUIRE(outcome.timeline->spans.size() == 4);
  REQUIRE(outcome.timeline->spans[1].start == 2'000'000'000);
  REQUIRE(outcome.timeline->spans[3].end == 7'000'000'000);
  job.workers[0].slowdown = 2;
  const StepOutcome slow = run(job, EngineKind::native);
  REQUIRE(slow.step_s == near(8));
  REQUIRE(seconds_of(slow.breakdown, Category::launch_gap) == near(2));
}

TEST_CASE("the host runs ahead while the GPU waits", "[executor]") {
  // Two segments of one 1 s kernel with 2 s host time each; the second waits for a reduction that
  // ends at 10 s, by when its launch (at 4 s) is long done: first 2-3, reduction 3-13 (100 B at 10
  // B/s), second 13-14.
  Job job;
  ProgramBuilder program(job.names);
  Segment segment;
  segment.scaled = 1;
  segment.host = 2;
  segment.pieces.push_back({job.names.id_of("kernel"), Category::compute, 1, 2, true});
  segment.bounds.push_back({2, 1, 0});
  program.work("forward", segment);
  program.collective(100, 0, {after(Lane::compute, 0)});
  program.work("optimizer", segment, {after(Lane::gradient, 0)});
  job.programs.push_back(program.program);
  add_worker(job, 0);
  add_group(job, {0}, {{add_link(job, 10)}});
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(14));
  REQUIRE(seconds_of(outcome.breakdown, Category::launch_gap) == near(2));
  REQUIRE(seconds_of(outcome.breakdown, Category::exposed_dp) == near(10));
}

TEST_CASE("compute goes slower while bytes of its worker are on the wire", "[executor]") {
  // Bucket on the wire 1-3 s (20 B at 10 B/s), slowdown 2 in overlap. Second segment of 4 s from 1
  // s: 1 s done by 3 s, 3 left: ends at 6. With only half of it scaled (2 + 2 fixed): speed 1
  // / 1.5; 4/3 done by 3 s, 8/3 left: 5.667 s.
  const double scaled = GENERATE(4.0, 2.0);
  Job job;
  job.compute_slowdown_in_overlap = 2;
  ProgramBuilder program(job.names);
  program.work("backward", 1.0);
  Segment segment;
  segment.scaled = scaled;
  segment.fixed = 4 - scaled;
  segment.by_category[0] = 4;
  program.work("backward", segment);
  program.collective(20, 0, {after(Lane::compute, 0)});
  job.programs.push_back(program.program);
  add_worker(job, 0);
  add_group(job, {0}, {{add_link(job, 10)}});
  const StepOutcome outcome = run(job, any_engine());
  REQUIRE(outcome.step_s == near(scaled == 4 ? 6 : 3 + 8.0 / 3));
  REQUIRE(seconds_of(outcome.breakdown, Category::launch_gap) == near(0));
}

TEST_CASE("a collective inside a node goes slower only while a member computes", "[executor]") {
  // 2 s of all-reduce from 1 s, factor 2, beside a segment of 1 s: half a second's worth done by 2
  // s, then 1.5 s at full speed: 3.5. On the compute lane nothing runs beside it: 1 + 2 + 1 = 4.
  const bool is_beside = GENERATE(true, false);
  Job job;
  job.collective_slowdown_in_overlap = 2;
  ProgramBuilder program(job.names);
  program.work("backward", 1.0);
  program.collective(0, 0, {after(Lane::compute, 0)}, is_beside ? Lane::gradient : Lane::compute);
  program.program.transfers.back().terms.intra = Seconds(2);
  program.work("backward", 1.0);
  job.programs.push_back(program.program);
  add_worker(job, 0);
  add_group(job, {0}, {});
  REQUIRE(run(job, any_engine()).step_s == near(is_beside ? 3.5 : 4));
}

TEST_CASE("compute goes slower while its compressor decodes on another stream", "[executor]") {
  // Decoding runs 1-3 s beside the second segment of 4 s from 1 s, factor 3: 2/3 s done by 3 s,
  // 10/3 left: ends at 6.333. A batch that is loaded in the same two seconds slows nothing: 5.
  const bool decodes = GENERATE(true, false);
  Job job;
  job.compute_slowdown_beside_codec = 3;
  ProgramBuilder program(job.names);
  program.work("backward", 1.0);
  program.work("backward", 4.0);
  program.work("decode", 2.0, {after(Lane::compute, 0)}, decodes ? Lane::gradient : Lane::data)
      .category = decodes ? Category::compression : Category::data_stall;
  job.programs.push_back(program.program);
  add_worker(job, 0);
  REQUIRE(run(job, any_engine()).step_s == near(decodes ? 3 + 10.0 / 3 : 5));
}

TEST_CASE("host bounds and overlap together keep the launches that are past", "[executor]") {
  // One segment at 1 s: kernels of 1 and 2 s; launches at 1 and 2 s (host runs ahead from 0 with 1
  // s each, after a first segment without host time): kernel 1 at 1, kernel 2 launched at 2. Wire
  // busy 1-3, factor 2. Kernel 1: 1-3 (half speed); kernel 2: 3-5. The launch at 2 leaves 2 s: half
  // done speed until 3 -> 0.5, then 1.5: 4.5 < 5.
  Job job;
  job.compute_slowdown_in_overlap = 2;
  ProgramBuilder program(job.names);
  program.work("backward", 1.0);
  Segment segment;
  segment.scaled = 3;
  segment.host = 2;
  segment.bounds = {{1, 3, 0}, {2, 2, 0}};
  segment.by_category[0] = 3;
  program.work("backward", segment);
  program.collective(20, 0, {after(Lane::compute, 0)});
  job.programs.push_back(program.program);
  add_worker(job, 0);
  add_group(job, {0}, {{add_link(job, 10)}});
  REQUIRE(run(job, any_engine()).step_s == near(5));
  // Launched at 4 instead of 2 it runs 4-6.
  job.programs[0].segments[1].bounds[1].issued = 4;
  REQUIRE(run(job, EngineKind::native).step_s == near(6));
}
