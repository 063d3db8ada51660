#include "sim/timeline/chrome_trace.hpp"
#include "sim/timeline/stats/critical_path.hpp"
#include "sim/timeline/stats/op_statistics.hpp"
#include "sim/timeline/stats/ranks.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::HandTrace;
using C = SliceCategory;

namespace {
/// Two ranks: rank 1 computes 30 % longer; both then reduce to a common end.
///   rank 0  |== f 0..100 ==|===== r 100..180 =====|= adam 180..200 =|
///   rank 1  |===== f 0..130 =====|== r 130..180 ==|= adam 180..200 =|
TracePtr two_ranks() {
  HandTrace hand;
  for (int rank = 0; rank < 2; ++rank) {
    const Nanoseconds end = rank == 0 ? 100 : 130;
    hand.stream(rank, "compute", {{"f", 0, end}, {"adam", 180, 200, C::optimizer}});
    hand.stream(rank, "nccl", {{"grad_reduce", end, 180, C::exposed_dp}});
    hand.builder.identify_last_slice("all_reduce", "", 2, 1000);
  }
  return hand.done();
}
std::vector<RankStatistics> statistics_of(const TraceStore& trace,
                                          const std::vector<CollectiveRun>& runs) {
  const Steps steps = find_steps(trace);
  return rank_statistics(trace, Area::all(trace), steps, step_matrix(trace, steps), runs);
}
}  // namespace

TEST_CASE("op statistics are exact percentiles over whole slices", "[stats]") {
  HandTrace hand;
  std::vector<test::HandSlice> list;
  for (int i = 1; i <= 100; ++i) list.push_back({"x", i * 1000, i * 1000 + i});  // durations 1..100
  hand.stream(0, "s", list);
  const TracePtr t = hand.done();
  const auto rows = op_statistics(*t, Area::all(*t));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].count == 100);
  CHECK(rows[0].total == 5050);
  CHECK(rows[0].p50 == 50);
  CHECK(rows[0].p95 == 95);
  CHECK(rows[0].p99 == 99);
  CHECK((rows[0].least == 1 && rows[0].most == 100));
  CHECK(t->duration(rows[0].longest) == 100);
  CHECK(rows[0].deviation == Approx(29.0115));  // sqrt((n^2 - 1) / 12 * n / (n - 1)), n = 100
  const Histogram h = op_histogram(*t, rows[0].op, Area::all(*t), 10);
  std::int64_t sum = 0;
  for (const auto count : h.counts) sum += count;
  CHECK(sum == 100);
  CHECK(h.edges.front() == 1);
  CHECK(h.edges.back() == 101);
  const auto longest = longest_slices(*t, Area::all(*t), 3);
  REQUIRE(longest.size() == 3);
  CHECK(t->duration(longest[0]) == 100);
  CHECK(t->duration(longest[2]) == 98);
}

TEST_CASE("an area counts the time inside its borders by one or two keys", "[stats]") {
  const TracePtr t = two_ranks();
  // [50, 190): f 50 + 80, grad_reduce 80 + 50, adam 10 + 10
  const Area area{50, 190, {}};
  const Pivot by_name = pivot(*t, area, GroupBy::name);
  REQUIRE(by_name.rows.size() == 3);
  double total = 0;
  for (const auto& row : by_name.rows) {
    if (row.label == "f") CHECK(row.total == 130);
    if (row.label == "grad_reduce") CHECK(row.total == 130);
    if (row.label == "adam") CHECK(row.total == 20);
    total += row.total;
  }
  CHECK(by_name.slices == 6);
  CHECK(by_name.seconds == Approx(total * 1e-9));
  const Pivot by_both = pivot(*t, area, GroupBy::rank, GroupBy::category);
  CHECK(by_both.rows.size() == 6);
  const AreaIndex index(t);
  const auto sums = index.by_category(area);
  CHECK(sums[static_cast<std::size_t>(C::compute)].total == 130);
  CHECK(sums[static_cast<std::size_t>(C::optimizer)].total == 20);
  CHECK(sums[static_cast<std::size_t>(C::exposed_dp)].count == 2);
}

TEST_CASE("block sums of an area equal the sum over its slices", "[stats]") {
  HandTrace hand;
  std::vector<test::HandSlice> list;
  for (int i = 0; i < 1000; ++i)
    list.push_back({"x", i * 10, i * 10 + 3 + i % 7, i % 5 == 0 ? C::data : C::compute});
  hand.stream(0, "s", list);
  const TracePtr t = hand.done();
  const AreaIndex index(t);
  for (const auto& [begin, end] : {std::pair<Nanoseconds, Nanoseconds>{0, 10'010},
                                   {5, 9999},
                                   {1281, 1283},
                                   {1280, 5120},
                                   {4000, 4001},
                                   {9000, 8000}}) {
    const Pivot expected = pivot(*t, {begin, end, {}}, GroupBy::category);
    const auto sums = index.by_category({begin, end, {}});
    double total = 0;
    std::int64_t count = 0;
    for (const auto& sum : sums) total += sum.total, count += sum.count;
    CHECK(count == expected.slices);
    CHECK(total == Approx(expected.seconds * 1e9));
  }
}

TEST_CASE("a collective's time splits into skew of arrivals and transfer", "[stats]") {
  const TracePtr t = two_ranks();
  const auto runs = collective_runs(*t);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].kind == "all_reduce");
  CHECK(runs[0].skew() == 30);
  CHECK(runs[0].transfer() == 50);
  CHECK(t->ranks()[runs[0].last_rank].rank == 1);
  CHECK(runs[0].is_complete);
  // 1000 B in 50 ns = 20 GB/s; the factor 2(n-1)/n of two ranks is 1
  CHECK(runs[0].busbw_GBps == Approx(20));
  const auto totals = collective_totals(*t, runs);
  REQUIRE(totals.size() == 1);
  CHECK(totals[0].skew_seconds == Approx(30e-9));
  CHECK(totals[0].worst_rank_runs == 1);
}

TEST_CASE("collectives without stated identity are matched by name and common end", "[stats]") {
  HandTrace hand;
  for (int rank = 0; rank < 4; ++rank)
    hand.stream(rank, "nccl",
                {{"grad_reduce", rank * 10, 100, C::exposed_dp},
                 {"grad_reduce", 200 + rank, 300, C::exposed_dp},
                 {"send", 310, 320, C::exposed_pp}});
  hand.builder.set_origin("simulated");
  const TracePtr t = hand.done();
  const auto runs = collective_runs(*t);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].members.size() == 4);
  CHECK(runs[0].skew() == 30);
  CHECK(runs[1].skew() == 3);
}

TEST_CASE("a simulated wait in front of a transfer counts as arrival", "[stats]") {
  HandTrace hand;
  hand.stream(
      0, "nccl",
      {{"grad_reduce", 10, 70, C::straggler_wait}, {"grad_reduce", 70, 100, C::exposed_dp}});
  hand.stream(1, "nccl", {{"grad_reduce", 70, 100, C::exposed_dp}});
  hand.builder.set_origin("simulated");
  const TracePtr t = hand.done();
  const auto runs = collective_runs(*t);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].skew() == 60);
  CHECK(runs[0].transfer() == 30);
  const auto ranks = statistics_of(*t, runs);
  CHECK(ranks[0].waited == Approx(60e-9));
  CHECK(ranks[1].caused_wait == Approx(60e-9));
  CHECK(ranks[1].waited == 0);
}

TEST_CASE("categories of a rank and its idle time add up to the window", "[stats]") {
  const TracePtr t = two_ranks();
  const auto runs = collective_runs(*t);
  const auto ranks = statistics_of(*t, runs);
  for (const RankStatistics& r : ranks) {
    double sum = r.idle;
    for (const double s : r.seconds) sum += s;
    CHECK(sum == Approx(200e-9));
  }
  CHECK(ranks[0].waited == Approx(30e-9));
  CHECK(ranks[1].caused_wait == Approx(30e-9));
  CHECK(ranks[0].exposed == Approx(80e-9));
}

TEST_CASE("the slow rank of many has the highest straggler score", "[stats]") {
  HandTrace hand;
  for (int rank = 0; rank < 8; ++rank)
    hand.stream(rank, "compute", {{"f", 0, rank == 5 ? 130 : 100}});
  const TracePtr t = hand.done();
  const auto ranks = statistics_of(*t, {});
  CHECK(ranks[5].straggler_score == Approx(0.3));
  CHECK(ranks[4].straggler_score == Approx(0).margin(1e-12));
  CHECK(ranks_by_slowness(ranks).front() == 5);
  CHECK(stragglers(ranks) == std::vector<RankId>{5});
  CHECK(rank_heat(ranks, Heat::straggler_score)[5] == 1);
}

TEST_CASE("stages of a pipeline are compared with their own kind", "[stats]") {
  // Stage 0 has an embedding more to compute, on every rank of it: nobody straggles.
  HandTrace hand;
  for (int rank = 0; rank < 8; ++rank)
    hand.stream(rank, "compute",
                rank < 4 ? std::vector<test::HandSlice>{{"embedding", 0, 50}, {"f", 50, 150}}
                         : std::vector<test::HandSlice>{{"f", 0, 100}});
  const TracePtr t = hand.done();
  for (const RankStatistics& r : statistics_of(*t, {}))
    CHECK(r.straggler_score == Approx(0).margin(1e-12));
}

TEST_CASE("the critical path passes a collective to the rank that arrived last", "[stats]") {
  // Back from adam on either rank: transfer 130..180, then rank 1's f 0..130. 130 + 50 + 20 = 200
  // ns.
  const TracePtr t = two_ranks();
  const CriticalPath path = critical_path(*t, collective_runs(*t), t->begin(), t->end());
  CHECK(path.seconds_total == Approx(200e-9));
  CHECK(path.gap_seconds == Approx(0).margin(1e-15));
  CHECK(path.seconds[static_cast<std::size_t>(C::compute)] == Approx(130e-9));
  CHECK(path.seconds[static_cast<std::size_t>(C::exposed_dp)] == Approx(50e-9));
  REQUIRE(path.segments.size() == 3);
  CHECK(t->ranks()[path.segments[0].rank].rank == 1);
  for (std::size_t i = 1; i < path.segments.size(); ++i)
    CHECK(path.segments[i].begin == path.segments[i - 1].end);
}

TEST_CASE("the critical path follows a message to its sender", "[stats]") {
  //  rank 0  f 0..80 | send 80..100
  //  rank 1  f 0..20            recv 80..100 | f 100..150
  HandTrace hand;
  hand.stream(0, "compute", {{"f", 0, 80}});
  const auto send = hand.stream(0, "send", {{"send", 80, 100, C::exposed_pp}});
  hand.stream(1, "compute", {{"f", 0, 20}, {"f", 100, 150}});
  const auto recv = hand.stream(1, "recv", {{"recv", 80, 100, C::exposed_pp}});
  hand.builder.add_flow(send, 80, recv, 100, hand.builder.op("recv", "flow", C::other));
  const TracePtr t = hand.done();
  const CriticalPath path = critical_path(*t, {}, t->begin(), t->end());
  REQUIRE(path.segments.size() == 3);
  CHECK(t->ranks()[path.segments[0].rank].rank == 0);
  CHECK(path.rank_changes == 1);
  CHECK(path.seconds_total == Approx(150e-9));
  CHECK(path.gap_seconds == 0);
}

TEST_CASE("a trace that stepcast wrote tells bytes and bus bandwidth of its collectives",
          "[stats]") {
  // Two data-parallel groups of eight ranks, two shown of each; S = 8 MB in 40 us = 200 GB/s;
  // times 2 * 7 / 8 = 350 GB/s.
  Timeline timeline;
  timeline.origin = "simulated";
  const NameId reduce = timeline.names.id_of("grad_reduce");
  for (int rank = 0; rank < 4; ++rank) {
    timeline.tracks.push_back({0, rank, "gradient"});
    timeline.spans.push_back({.track = static_cast<std::uint32_t>(rank),
                              .name = reduce,
                              .category = Category::exposed_dp,
                              .start = 1000,
                              .end = 41'000,
                              .payload = rank % 2});
  }
  for (int group = 0; group < 2; ++group)
    timeline.payloads.push_back({"all_reduce", "dp: rank " + std::to_string(group), 8, 8'000'000});
  const test::TempPath file("payload.json");
  write_chrome_trace(timeline, file.path);
  const TracePtr t = open_trace({file.path}).trace;
  const auto runs = collective_runs(*t);
  REQUIRE(runs.size() == 2);
  for (const CollectiveRun& run : runs) {
    CHECK(run.members.size() == 2);
    CHECK(run.group_size == 8);
    CHECK(run.bytes == 8'000'000);
    CHECK(run.busbw_GBps == Approx(350));
    CHECK(run.is_complete);
  }
  // Groups of one family are one row, named by the op.
  const auto totals = collective_totals(*t, runs);
  REQUIRE(totals.size() == 1);
  CHECK(totals[0].kind == "grad_reduce (all_reduce)");
  CHECK(totals[0].group == "dp");
  CHECK(totals[0].bytes == 16'000'000);
  CHECK(totals[0].mean_busbw_GBps == Approx(350));
}
