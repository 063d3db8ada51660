#include <cmath>

#include "sim/timeline/match/match.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::HandTrace;
using C = SliceCategory;

namespace {
/// Two steps; B's compute takes `slow` times as long, and B has one op more.
TracePtr job(double slow, bool has_extra, int first_step) {
  HandTrace hand;
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<test::HandSlice> host, compute;
    Nanoseconds at = 1000;
    for (int step = 0; step < 2; ++step) {
      const auto f = static_cast<Nanoseconds>(100 * slow), g = Nanoseconds{50};
      compute.push_back({"f", at, at + f}), compute.push_back({"f", at + f, at + 2 * f}),
          compute.push_back({"g", at + 2 * f, at + 2 * f + g, C::optimizer});
      host.push_back({"ProfilerStep#" + std::to_string(first_step + step), at, at + 2 * f + g});
      at += 2 * f + g;
    }
    if (has_extra && rank == 0) compute.push_back({"extra", at, at + 7});
    hand.stream(rank, "host", host, TrackKind::host_thread);
    hand.stream(rank, "compute", compute);
  }
  return hand.done();
}
}  // namespace

TEST_CASE("slices meet their partner by rank and stream and occurrence in the step", "[match]") {
  const TracePtr a = job(1, false, 5), b = job(2, true, 5);
  const Steps sa = find_steps(*a), sb = find_steps(*b);
  const Match m = match_traces(*a, sa, *b, sb);
  CHECK(m.pairs == 16);  // 2 ranks x (2 steps x 3 ops + 2 marks)
  CHECK(m.ranks.size() == 2);
  CHECK(m.steps == std::vector<std::pair<int, int>>{{0, 0}, {1, 1}});
  // The second f of the second step: A at 1000 + 250 + 100, B at 1000 + 450 + 200
  const SliceId in_a = test::slice_named(*a, "f", 1350), in_b = test::slice_named(*b, "f", 1650);
  CHECK(m.partner_of_a[in_a] == in_b);
  CHECK(m.partner_of_b[in_b] == in_a);
  CHECK(m.only_a.empty());
  REQUIRE(m.only_b.size() == 1);
  CHECK(b->text(b->ops()[m.only_b[0].op].name) == "extra");
}

TEST_CASE("ranks of other numbers meet by a map and the rest is listed", "[match]") {
  HandTrace a, b;
  a.stream(0, "s", {{"x", 0, 1}}), a.stream(1, "s", {{"x", 0, 1}});
  b.stream(8, "s", {{"x", 0, 1}});
  const TracePtr ta = a.done(), tb = b.done();
  const Steps sa = find_steps(*ta), sb = find_steps(*tb);
  const Match m = match_traces(*ta, sa, *tb, sb, {.rank_map = {{1, 8}}});
  CHECK(m.ranks == std::vector<std::pair<RankId, RankId>>{{1, 0}});
  CHECK(m.ranks_only_a == std::vector<RankId>{0});
  CHECK(m.pairs == 1);
  REQUIRE(m.only_a.size() == 1);
  CHECK(m.only_a[0].count == 1);
}

TEST_CASE("alignment by step puts each step of B at the start of A's", "[match]") {
  const TracePtr a = job(1, false, 5), b = job(2, false, 5);
  const Steps sa = find_steps(*a), sb = find_steps(*b);
  const Match m = match_traces(*a, sa, *b, sb);
  const TimeMap shifted = TimeMap::make(Alignment::every_step, *a, sa, *b, sb, m);
  CHECK(shifted.b_to_a(1000) == 1000);
  CHECK(shifted.b_to_a(1450) == 1250);  // second step
  const TimeMap scaled = TimeMap::make(Alignment::every_step, *a, sa, *b, sb, m, 0, true);
  CHECK(scaled.b_to_a(1225) == 1125);  // the middle of a step of 450 is the middle of one of 250
  CHECK(scaled.a_to_b(1125) == 1225);
  CHECK(TimeMap::make(Alignment::manual, *a, sa, *b, sb, m, -30).b_to_a(100) == 70);
  CHECK(TimeMap::make(Alignment::absolute, *a, sa, *b, sb, m).b_to_a(100) == 100);
}

TEST_CASE("the waterfall's bars add up from A's step to B's", "[match]") {
  // A 250 ns: 200 compute, 50 optimizer. B 450 ns: 400 and 50.
  const TracePtr a = job(1, false, 5), b = job(2, false, 5);
  const Steps sa = find_steps(*a), sb = find_steps(*b);
  const Waterfall w = waterfall(*a, sa, *b, sb, match_traces(*a, sa, *b, sb));
  CHECK(w.step_a == Approx(250e-9));
  CHECK(w.step_b == Approx(450e-9));
  double sum = 0;
  for (const auto& bar : w.bars) {
    sum += bar.seconds;
    if (bar.category == C::compute) CHECK(bar.seconds == Approx(200e-9));
  }
  CHECK(sum == Approx(w.step_b - w.step_a));
}

TEST_CASE("errors of a prediction keep their sign", "[match]") {
  const TracePtr a = job(2, false, 0), b = job(1, false, 0);
  const Steps sa = find_steps(*a), sb = find_steps(*b);
  const Accuracy acc = accuracy(*a, sa, *b, sb, match_traces(*a, sa, *b, sb));
  CHECK(acc.step_error == Approx(250.0 / 450 - 1));
  for (const auto& row : acc.by_name) {
    if (row.label == "f") CHECK(row.error == Approx(-0.5));
    if (row.label == "g") CHECK(row.error == Approx(0));
  }
  CHECK(acc.by_rank.size() == 2);
  CHECK(acc.worst.front().seconds == Approx(-200e-9));  // the step marks
  CHECK(acc.scatter.size() == 16);
}

TEST_CASE("the delta table tells change from no change", "[match]") {
  const TracePtr a = job(1, false, 0), b = job(1.01, true, 0);
  const Steps sa = find_steps(*a), sb = find_steps(*b);
  for (const Delta& d : delta_table(*a, sa, *b, sb, DeltaBy::name, 0.02)) {
    if (d.label == "f") CHECK(!d.is_change);  // 1 %
    if (d.label == "extra") CHECK((d.is_change && d.count_a == 0 && d.count_b == 1));
    if (d.label == "f") CHECK(d.total_a == Approx(200e-9));  // a step and a rank
  }
  const DeltaMatrix m = step_deltas(sa, sb, match_traces(*a, sa, *b, sb));
  REQUIRE(m.seconds.size() == 4);
  CHECK(m.seconds[0] == Approx(2e-9));
}

namespace {
/// Rank 0: a pass of 100 ns, in detail 70 ns of compute and 30 ns of communication. Rank 1: a pass,
/// in detail 10 ns of communication behind `compute`.
TracePtr simulated(bool details_0, bool details_1, Nanoseconds compute) {
  HandTrace hand;
  hand.builder.set_origin("simulated");
  std::vector<test::HandSlice> rank0{{"forward", 0, 100}}, rank1{{"forward", 0, compute + 10}};
  if (details_0)
    rank0.insert(rank0.end(), {{"mlp", 0, 70}, {"tp_all_reduce", 70, 100, C::exposed_tp}});
  if (details_1)
    rank1.insert(rank1.end(),
                 {{"mlp", 0, compute}, {"tp_all_reduce", compute, compute + 10, C::exposed_tp}});
  hand.stream(0, "compute", rank0);
  hand.stream(1, "compute", rank1);
  return hand.done();
}
}  // namespace

TEST_CASE("simulations differ over the ranks that both write op by op", "[match]") {
  const TracePtr a = simulated(false, true, 60), b = simulated(true, true, 80);
  const Steps sa = find_steps(*a), sb = find_steps(*b);
  const Match m = match_traces(*a, sa, *b, sb);
  const CommonDetail detail = common_detail(*a, *b, m);
  CHECK(detail.ranks == 1);
  CHECK(!detail.counts_passes);
  CHECK(detail.is_counted_b == std::vector<char>{0, 1});
  // Rank 1: compute 60 against 80, communication 10 in both; its pass is no time of its own.
  for (const Delta& d : delta_table(*a, sa, *b, sb, DeltaBy::category, 0.02, detail)) {
    CAPTURE(d.label);
    CHECK(d.total_a == Approx(d.category == C::compute ? 60e-9 : 10e-9));
    CHECK(d.total_b == Approx(d.category == C::compute ? 80e-9 : 10e-9));
  }
  // Rank 0 is the slowest, in detail in B alone: 100 ns of passes on both sides.
  const Waterfall w = waterfall(*a, sa, *b, sb, m);
  CHECK(w.counts_passes);
  for (const auto& bar : w.bars) CHECK(bar.seconds == Approx(0));
}

TEST_CASE("simulations without a rank in detail in both differ by their passes", "[match]") {
  const TracePtr a = simulated(false, true, 60), b = simulated(true, false, 80);
  const Steps sa = find_steps(*a), sb = find_steps(*b);
  const CommonDetail detail = common_detail(*a, *b, match_traces(*a, sa, *b, sb));
  CHECK(detail.counts_passes);
  CHECK(detail.ranks == 2);
  // A rank's mean of the passes: (100 + 70) / 2 against (100 + 90) / 2.
  const auto rows = delta_table(*a, sa, *b, sb, DeltaBy::category, 0.02, detail);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].total_a == Approx(85e-9));
  CHECK(rows[0].total_b == Approx(95e-9));
}

TEST_CASE("simulations in one detail and measured traces are compared whole", "[match]") {
  const TracePtr a = simulated(true, true, 60), b = simulated(true, true, 80);
  const Steps sa = find_steps(*a), sb = find_steps(*b);
  CHECK(common_detail(*a, *b, match_traces(*a, sa, *b, sb)).is_counted_a.empty());
  const TracePtr measured = job(1, false, 0), other = simulated(true, false, 60);
  const Steps sm = find_steps(*measured), so = find_steps(*other);
  CHECK(common_detail(*measured, *other, match_traces(*measured, sm, *other, so))
            .is_counted_a.empty());
}
