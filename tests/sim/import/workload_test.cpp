#include "sim/core/result.hpp"
#include "sim/import/chakra/chakra.hpp"
#include "sim/import/goal/goal.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/what_if.hpp"
#include "sim/import/straggler/straggler_table.hpp"
#include "tests/support/temp_path.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// Two ranks, one step: compute of 1 s and 3 s, then an all-reduce of 0.5 s over both, then 1 s.
Workload two_ranks() {
  Workload w;
  w.origin = "test";
  w.steps = {{0, 0}};
  const NameId compute = w.names.id_of("gemm"), reduce = w.names.id_of("reduce"),
               tail = w.names.id_of("adam");
  w.groups = {{"dp", GroupKind::dp, 2, {0, 1}}};
  for (int r = 0; r < 2; ++r) {
    WorkRank rank{r, -1, {"gpu"}, {}};
    rank.ops.push_back({.name = compute, .duration_s = r == 0 ? 1.0 : 3.0, .step = 0, .after = {}});
    rank.ops.push_back({.kind = WorkKind::collective,
                        .name = reduce,
                        .duration_s = 0.5,
                        .bytes = 1'000'000'000,
                        .group = 0,
                        .match = 1,
                        .step = 0,
                        .after = {}});
    rank.ops.push_back({.name = tail, .duration_s = 1, .delay_s = 0.25, .step = 0, .after = {0}});
    w.ranks.push_back(rank);
  }
  return w;
}
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}
}  // namespace

TEST_CASE("a collective ends its transfer after the last member arrived", "[replay]") {
  // 3 + 0.5 + 0.25 delay + 1 = 4.75; rank 0 waits 3 - 1 = 2 s in the collective.
  const ReplayResult r = replay(two_ranks());
  REQUIRE(r.step_s[0] == Approx(4.75));
  REQUIRE(r.ranks[0][0].wait_s == Approx(2));
  REQUIRE(r.ranks[1][0].wait_s == Approx(0).margin(1e-12));
  REQUIRE(replay(two_ranks(), {.keep_delays = false}).step_s[0] == Approx(4.5));
}

TEST_CASE("a workload survives its file and every compression", "[replay]") {
  for (const char* name : {"w.workload.json", "w.workload.json.gz", "w.workload.json.zst"}) {
    const test::TempPath file(name, "");
    write_workload(two_ranks(), file.path);
    const Workload w = read_workload(file.path).value_or_throw();
    REQUIRE(w.op_count() == 6);
    REQUIRE(replay(w).step_s[0] == Approx(4.75));
  }
  const test::TempPath wrong(
      "w.workload.json",
      R"({"stepcast_workload": 1, "origin": "x", "names": [], "ranks": [{"rank": 0, "lanes": ["a"], "ops": [[0,0,0,1,0,0,0,-1,-1,0,-1,[5]]]}]})");
  REQUIRE_FALSE(read_workload(wrong.path));
}

TEST_CASE("each change moves the step in its direction and by the amount solved by hand",
          "[replay]") {
  const Workload w = two_ranks();
  REQUIRE(replay(with_faster(w, "gemm", 2).workload).step_s[0] == Approx(1.5 + 0.5 + 1.25));
  REQUIRE(with_faster(w, "nothing called so", 2).ops_changed == 0);
  // start-up is capped at 30 us: 0.49997 s of bytes halve.
  REQUIRE(replay(with_network_factors(w, 2, 1).workload).step_s[0] == Approx(4.5).epsilon(1e-4));
  REQUIRE(replay(with_network_factors(w, 0.5, 1).workload).step_s[0] == Approx(5.25).epsilon(1e-4));
  // 1 GB to a tenth: 0.05 s, encode and decode of 1 GB at 100 GB/s 0.02 s.
  REQUIRE(replay(with_compression(w, 0.1, 100).workload).step_s[0] ==
          Approx(4.25 + 0.07).epsilon(1e-4));
  // Ring factor 2(n-1)/n: 1 for two ranks, 1.5 for four.
  REQUIRE(replay(with_data_parallel_size(w, 4).workload).step_s[0] == Approx(5.0).epsilon(1e-3));
  // Everyone computes the mean of 1 and 3.
  REQUIRE(replay(equalised(w).workload).step_s[0] == Approx(2 + 0.5 + 1.25));
  const StragglerReport report = straggler_report(w);
  REQUIRE(report.slowdown == Approx(4.5 / 3.5));
  REQUIRE(report.ranks.front().what == "rank 1");
}

TEST_CASE("ranks of different recordings are refused by naming who waits", "[replay]") {
  Workload w = two_ranks();
  w.ranks[0].ops[1].match = 1;
  w.ranks[1].ops[1] = {.kind = WorkKind::recv,
                       .name = 1,
                       .duration_s = 1,
                       .peer = 0,
                       .match = 7,
                       .step = 0,
                       .after = {}};
  w.ranks[0].ops.push_back({.kind = WorkKind::send,
                            .name = 1,
                            .duration_s = 1,
                            .peer = 1,
                            .match = 8,
                            .step = 0,
                            .after = {}});
  // A message alone in the recording meets nobody and takes its own time; a cycle of two is stuck.
  REQUIRE(replay(w).total_s > 0);
  Workload stuck = two_ranks();
  stuck.ranks[0].ops = {
      {.kind = WorkKind::recv, .name = 0, .peer = 1, .match = 1, .step = 0, .after = {}},
      {.kind = WorkKind::send, .name = 0, .peer = 1, .match = 2, .step = 0, .after = {}}};
  stuck.ranks[1].ops = {
      {.kind = WorkKind::recv, .name = 0, .peer = 0, .match = 2, .step = 0, .after = {}},
      {.kind = WorkKind::send, .name = 0, .peer = 0, .match = 1, .step = 0, .after = {}}};
  REQUIRE(message_of([&] { replay(stuck); }).find("rank 0 waits in gemm") != std::string::npos);
}

TEST_CASE("GOAL schedules run calculations in order and meet messages by tag", "[goal]") {
  // rank 0: 1000 ns, then 100 b to rank 1; rank 1 receives, then 500 ns: 1 us + (3.7 us + 4 ns) +
  // 0.5 us.
  const test::TempPath file(
      "a.goal",
      "num_ranks 2\n\nrank 0 {\nl1: calc 1000\nl2: send 100b to 1 tag 7\nl2 requires l1\n}\n\nrank "
      "1 {\nl1: recv 100b from 0 tag 7\nl2: calc 500\nl2 requires l1\n}\n");
  Anomalies anomalies;
  const Workload w = goal::read_schedule(file.path, anomalies);
  REQUIRE(workload_fault(w).empty());
  REQUIRE(replay(w).total_s == Approx(1e-6 + 3.704e-6 + 0.5e-6));
  REQUIRE(goal::sniff("num_ranks 2\n"));
  const test::TempPath cut("b.goal", "num_ranks 2\nrank 0 {\nl1: calc 1000\n");
  REQUIRE(message_of([&] {
            goal::read_schedule(cut.path, anomalies);
          }).find("ends inside a rank's block") != std::string::npos);
  const test::TempPath loop(
      "c.goal",
      "num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1\n}\n");
  REQUIRE(message_of([&] {
            goal::read_schedule(loop.path, anomalies);
          }).find("require each other") != std::string::npos);
}

TEST_CASE("a GOAL message without its partner is counted and comments may lead", "[goal]") {
  const std::string text =
      "\xef\xbb\xbf// made by hand\nnum_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 1\n"
      "l2: send 8b to 1 tag 2\n}\nrank 1 {\nl1: recv 8b from 0 tag 1\n}\n";
  CHECK(goal::sniff(text));
  CHECK_FALSE(goal::sniff("// only words"));
  const test::TempPath file("d.goal", text);
  Anomalies anomalies;
  CHECK(goal::read_schedule(file.path, anomalies).ranks.size() == 2);
  CHECK(anomalies.count_of("message_without_partner") == 1);
}

TEST_CASE("an operation table splits waiting from transfer", "[straggler]") {
  // Rank 1 (stage 1) receives from 0 s, the send comes at 1 s and both end at 1.1: transfer 0.1 s.
  const test::TempPath file(
      "t.csv",
      "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n0,0,0,5,forward-"
      "compute,0,1,0,0,0,0\n0,0,0,5,forward-send,1,0.1,0,-1,-1,-1\n"
      "0,1,1,5,forward-recv,0,1.1,0,-1,-1,-1\n0,1,1,5,forward-compute,1.1,2,0,0,0,1\n");
  Anomalies anomalies;
  const Workload w = straggler::read_table(file.path, anomalies);
  const ReplayResult r = replay(w);
  REQUIRE(w.steps[0].measured_s == Approx(3.1));
  REQUIRE(r.step_s[0] == Approx(3.1));
  REQUIRE(r.ranks[1][0].wait_s == Approx(1.0));
  REQUIRE(replay(with_faster(w, "forward", 2).workload).step_s[0] == Approx(0.5 + 0.1 + 1.0));
}

TEST_CASE(
    "a Chakra trace is read with packed and single dependencies and refused when it breaks off",
    "[chakra]") {
  // GlobalMetadata {version "0.0.4"}; node 0: compute 7 us; node 1: all-reduce of 1 MiB after node
  // 0, dependency packed.
  const std::string bytes(
      "\x07\x0a\x05"
      "0.0.4"
      "\x08\x12\x02"
      "c0"
      "\x18\x04\x38\x07",
      8 + 9);
  std::string node(
      "\x08\x01\x12\x02"
      "a1"
      "\x18\x07\x2a\x01\x00",
      11);
  node += std::string(
              "\x52\x0d\x0a\x09"
              "comm_type"
              "\x48\x00",
              15) +
          std::string(
              "\x52\x0f\x0a\x09"
              "comm_size"
              "\x48\x80\x80\x40",
              17);
  const std::string whole = bytes + static_cast<char>(node.size()) + node;
  const test::TempPath file("c.0.et", whole);
  Anomalies anomalies;
  const std::vector<std::string> paths{file.path};
  const Workload w = chakra::read_traces(paths, anomalies);
  REQUIRE(w.ranks[0].ops.size() == 2);
  REQUIRE(w.ranks[0].ops[1].bytes == 1 << 20);
  REQUIRE(w.ranks[0].ops[1].after == std::vector<std::uint32_t>{0});
  REQUIRE(w.ranks[0].ops[0].duration_s == Approx(7e-6));
  REQUIRE(chakra::sniff(whole));
  const test::TempPath cut("c.1.et", whole.substr(0, whole.size() - 3));
  const std::vector<std::string> broken{cut.path};
  REQUIRE(message_of([&] {
            chakra::read_traces(broken, anomalies);
          }).find("breaks off or is damaged at byte 17 after 1 nodes") != std::string::npos);
}
