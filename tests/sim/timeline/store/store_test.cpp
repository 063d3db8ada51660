#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::HandTrace;
using C = SliceCategory;

TEST_CASE("overlapping slices of a stream stand on further lanes and none is dropped", "[store]") {
  //  a |-----------|          0..100
  //  b      |-----------|    50..150   overlaps a: second lane
  //  c             |----|   100..140   a has ended: first lane again
  //  d        |-|            60..70    under a and b: third lane
  HandTrace hand;
  hand.stream(0, "s", {{"c", 100, 140}, {"a", 0, 100}, {"d", 60, 70}, {"b", 50, 150}});
  const TracePtr t = hand.done();
  REQUIRE(t->slices() == 4);
  REQUIRE(t->lanes().size() == 3);
  CHECK(t->depth_of(test::slice_named(*t, "a", 0)) == 0);
  CHECK(t->depth_of(test::slice_named(*t, "b", 50)) == 1);
  CHECK(t->depth_of(test::slice_named(*t, "c", 100)) == 0);
  CHECK(t->depth_of(test::slice_named(*t, "d", 60)) == 2);
}

TEST_CASE("a thousand slices that overlap at once take a thousand lanes", "[store]") {
  HandTrace hand;
  std::vector<test::HandSlice> slices;
  for (int i = 0; i < 1000; ++i) slices.push_back({"s", i, 5000 - i});
  hand.stream(0, "s", slices);
  const TracePtr t = hand.done();
  CHECK(t->slices() == 1000);
  CHECK(t->lanes().size() == 1000);
}

TEST_CASE("durations beyond 32 bits of nanoseconds are kept exactly", "[store]") {
  // 2^32 - 1 ns is the mark of a long one: just below, at and above it, and a day
  const Nanoseconds edge = 4'294'967'295, day = 86'400'000'000'000;
  HandTrace hand;
  hand.stream(0, "s",
              {{"below", 0, edge - 1},
               {"at", edge, 2 * edge},
               {"above", 2 * edge, 3 * edge + 1},
               {"day", 4 * edge, 4 * edge + day}});
  hand.stream(1, "s", {{"late", 10, 10 + day}, {"inside", 20, 30}});
  const TracePtr t = hand.done();
  CHECK(t->duration(test::slice_named(*t, "below", 0)) == edge - 1);
  CHECK(t->duration(test::slice_named(*t, "at", edge)) == edge);
  CHECK(t->duration(test::slice_named(*t, "above", 2 * edge)) == edge + 1);
  CHECK(t->duration(test::slice_named(*t, "day", 4 * edge)) == day);
  CHECK(t->duration(test::slice_named(*t, "late", 10)) == day);
  CHECK(t->end() == 4 * edge + day);
}

TEST_CASE("searches in a lane are tight at the borders of slices", "[store]") {
  HandTrace hand;
  hand.stream(0, "s", {{"a", 10, 20}, {"b", 20, 30}, {"c", 40, 50}});
  const TracePtr t = hand.done();
  CHECK(t->slice_at(0, 9) == kNoId);
  CHECK(t->slice_at(0, 10) == 0);
  CHECK(t->slice_at(0, 19) == 0);
  CHECK(t->slice_at(0, 20) == 1);
  CHECK(t->slice_at(0, 30) == kNoId);
  CHECK(t->first_ending_after(0, 19) == 0);
  CHECK(t->first_ending_after(0, 20) == 1);
  CHECK(t->first_ending_after(0, 50) == 3);
  CHECK(t->first_starting_at(0, 21) == 2);
}

TEST_CASE("tracks stand by node then rank then stream with numbers as numbers", "[store]") {
  HandTrace hand;
  for (const int rank : {10, 2, 9})
    hand.stream(rank, "stream 10", {{"x", 0, 1}}, TrackKind::device_stream, rank / 8);
  hand.stream(2, "stream 7", {{"x", 0, 1}});
  hand.builder.track(0).sort = hand.builder.track(1).sort = hand.builder.track(2).sort =
      hand.builder.track(3).sort = 0;
  const TracePtr t = hand.done();
  REQUIRE(t->nodes().size() == 2);
  REQUIRE(t->ranks().size() == 3);
  CHECK(t->ranks()[0].rank == 2);
  CHECK(t->ranks()[1].rank == 9);
  CHECK(t->ranks()[2].rank == 10);
  CHECK(t->tracks()[0].label == "stream 7");
  CHECK(t->tracks()[1].label == "stream 10");
}

TEST_CASE("communication mostly under compute of its rank is shown as overlapped", "[store]") {
  // compute 0..100; all-reduce 40..140: 60 of 100 under compute; all-gather 90..190: 10 of 100
  HandTrace hand;
  hand.stream(0, "compute", {{"gemm", 0, 100}});
  hand.stream(
      0, "nccl",
      {{"all_reduce", 40, 90 + 50, C::exposed_dp}, {"all_gather", 150, 250, C::exposed_dp}});
  hand.stream(1, "nccl", {{"all_reduce", 40, 140, C::exposed_dp}});
  const TracePtr t = hand.builder.build({});
  int overlapped = 0;
  for (SliceId s = 0; s < t->slices(); ++s)
    if (t->category(s) == C::overlapped) {
      ++overlapped;
      CHECK(t->name(s) == "all_reduce");
      CHECK(t->ranks()[t->rank_of(s)].rank == 0);
    }
  CHECK(overlapped == 1);
}

TEST_CASE("arrows find the innermost slices at both ends", "[store]") {
  HandTrace hand;
  const auto from = hand.stream(0, "host", {{"outer", 0, 100}, {"launch", 10, 20}});
  const auto to = hand.stream(0, "gpu", {{"kernel", 50, 60}});
  hand.builder.add_flow(from, 15, to, 50, hand.builder.op("ac2g", "flow", C::other));
  hand.builder.add_flow(from, 200, to, 60, hand.builder.op("ac2g", "flow", C::other));
  const TracePtr t = hand.done();
  const SliceId launch = test::slice_named(*t, "launch", 10),
                kernel = test::slice_named(*t, "kernel", 50);
  REQUIRE(t->flows_from(launch).size() == 1);
  CHECK(t->flows()[t->flows_from(launch).front()].to == kernel);
  CHECK(t->flows_into(kernel).size() == 2);
  CHECK(t->flows_from(kNoId).size() == 1);  // nothing runs at 200
}

TEST_CASE("a builder that absorbs another keeps its slices under its own names", "[store]") {
  HandTrace a, b;
  a.stream(0, "s", {{"x", 0, 10}});
  b.stream(1, "s", {{"y", 5, 5 + 5'000'000'000}, {"x", 0, 5}});
  b.builder.identify_last_slice("all_reduce", "world", 2, 64);
  a.builder.absorb(std::move(b.builder));
  const TracePtr t = a.done();
  CHECK(t->slices() == 3);
  CHECK(t->duration(test::slice_named(*t, "y", 5)) == 5'000'000'000);
  REQUIRE(t->collectives().size() == 1);
  CHECK(t->name(t->collectives()[0].slice) == "x");
  CHECK(t->ranks()[t->rank_of(t->collectives()[0].slice)].rank == 1);
}

TEST_CASE("a stored slice takes at most 18 bytes besides names and rows", "[store]") {
  HandTrace hand;
  std::vector<test::HandSlice> slices;
  for (int i = 0; i < 100'000; ++i) slices.push_back({"op", i * 10, i * 10 + 9});
  hand.stream(0, "s", slices);
  const TracePtr t = hand.done();
  // start 8, duration 4, op 2, source 4
  CHECK(t->memory() < 100'000 * 18 + 4096);
}
