#include "sim/timeline/export/export.hpp"
#include "sim/io/csv.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::HandTrace;
using test::TempPath;
using C = SliceCategory;

TEST_CASE("a trimmed trace opens again with its rows and slices and arrows and counters",
          "[export]") {
  HandTrace hand;
  const auto a =
      hand.stream(3, "compute", {{"f \"x\"", 0, 100}, {"g", 200, 300}, {"late", 900, 950}});
  const auto b =
      hand.stream(12, "nccl", {{"r", 50, 250, C::exposed_dp}, {"over", 60, 240, C::exposed_dp}},
                  TrackKind::device_stream, 1);
  hand.stream(12, "thread main", {{"call", 90, 110, C::other}}, TrackKind::host_thread, 1);
  hand.builder.add_flow(a, 10, b, 60, hand.builder.op("msg", "flow", C::other));
  hand.builder.add_instant(a, 210, hand.builder.op("mark", "test", C::other));
  StoreBuilder::TrackSpec counter;
  counter.node = "node 1", counter.node_sort = 1, counter.rank = 12, counter.label = "memory",
  counter.kind = TrackKind::counter;
  const auto c = hand.builder.add_track(counter);
  hand.builder.add_counter(c, "used", 0, 5), hand.builder.add_counter(c, "used", 120, 7.5);
  hand.builder.set_origin("simulated");
  const TracePtr t = hand.done();
  for (const char* name : {"trim.json", "trim.json.gz"}) {
    const TempPath file(name);
    // [80, 260): everything but "late"
    CHECK(export_trimmed(*t, {80, 260, {}}, file.path) == 5);
    const OpenResult r = open_trace({file.path});
    CHECK(r.report.lost == 0);
    REQUIRE(r.trace->slices() == 5);
    CHECK(r.trace->ranks().size() >= 2);
    const SliceId f = test::slice_named(*r.trace, "f \"x\"", 0);
    REQUIRE(f != kNoId);
    CHECK(r.trace->ranks()[r.trace->rank_of(f)].rank == 3);
    CHECK(r.trace->tracks()[r.trace->track_of(f)].label == "compute");
    CHECK(r.trace->nodes()[r.trace->ranks()[r.trace->rank_of(f)].node].label == "node 0");
    const SliceId over = test::slice_named(*r.trace, "over", 60);
    CHECK(r.trace->depth_of(over) == 1);
    CHECK(r.trace->tracks()[r.trace->track_of(test::slice_named(*r.trace, "call", 90))].kind ==
          TrackKind::host_thread);
    CHECK(r.trace->flows().size() == 1);
    CHECK(r.trace->instants().size() == 1);
    REQUIRE(r.trace->counters().size() == 1);
    CHECK(r.trace->counters()[0].times == std::vector<Nanoseconds>{80, 120});
    CHECK(r.trace->counters()[0].values == std::vector<double>{5, 7.5});
    CHECK(r.trace->origin() == "simulated");
  }
}

TEST_CASE("a collective keeps its bytes and group in a trimmed trace", "[export]") {
  HandTrace hand;
  hand.stream(0, "nccl", {{"all_reduce", 0, 100, C::exposed_dp}});
  hand.builder.identify_last_slice("all_reduce", "dp: rank 0", 8, 1'000'000);
  hand.stream(0, "compute", {{"f", 0, 100}});
  const TracePtr t = hand.done();
  const TempPath file("payload.json");
  CHECK(export_trimmed(*t, {0, 100, {}}, file.path) == 2);
  const TracePtr again = open_trace({file.path}).trace;
  REQUIRE(again->collectives().size() == 1);
  const CollectiveSlice& c = again->collectives()[0];
  CHECK(again->name(c.slice) == "all_reduce");
  CHECK(again->text(c.kind) == "all_reduce");
  CHECK(again->text(c.group) == "dp: rank 0");
  CHECK(c.group_size == 8);
  CHECK(c.bytes == 1'000'000);
}

TEST_CASE("a filter and lanes limit what is exported", "[export]") {
  HandTrace hand;
  hand.stream(0, "a", {{"x", 0, 10}, {"y", 10, 20}});
  hand.stream(1, "a", {{"x", 0, 10}});
  const TracePtr t = hand.done();
  const TempPath file("limited.json");
  const BoundFilter only_x(std::get<Filter>(Filter::parse("name = x")), t);
  CHECK(export_trimmed(*t, {0, 100, {0}}, file.path, &only_x) == 1);
}

TEST_CASE("slices as a table quote names with commas", "[export]") {
  HandTrace hand;
  hand.stream(0, "s", {{"a, \"b\"", 5, 12}});
  const TracePtr t = hand.done();
  const TempPath file("slices.csv");
  const std::vector<SliceId> all{0};
  export_slices_csv(*t, all, file.path);
  const auto table = CsvTable::read(file.path);
  REQUIRE(table);
  CHECK(table->text(0, "name") == "a, \"b\"");
  CHECK(table->number(0, "start_ns") == 5);
  CHECK(table->number(0, "duration_ns") == 7);
  CHECK(csv_text({"a", "b"}, {{"1", "x,y"}}) == "a,b\n1,\"x,y\"\n");
}
