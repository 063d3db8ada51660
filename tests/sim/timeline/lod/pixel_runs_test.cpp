#include "sim/timeline/lod/pixel_runs.hpp"
#include "sim/timeline/lod/memory_counters.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::HandTrace;
using C = SliceCategory;

TEST_CASE("counters of plain bytes are told from rates and multiples", "[lod]") {
  for (const char* name : {"memory bytes", "Total Bytes", "bytes", "Bytes allocated"})
    CHECK(counts_bytes({.name = name}));
  for (const char* name : {"KBytes", "Bytes/s", "bytes per second", "memory", "megabytes"})
    CHECK_FALSE(counts_bytes({.name = name}));
}

TEST_CASE("a line of pixels shares each column among what lies in it", "[lod]") {
  // columns     0    1    2    3    4    5
  // compute          .5===============.25         1.5 to 4.25
  // all_reduce                     .75=====       4.25 to 6
  PixelRuns runs(6);
  runs.add(C::compute, 1.5, 4.25);
  runs.add(C::exposed_dp, 4.25, 6);
  std::vector<LodCell> cells(6);
  runs.write(cells, 1);
  CHECK(is_idle(cells[0]));
  CHECK(cells[1] == lod_cell(C::compute, 8));  // half of fifteen, rounded up
  CHECK(cells[2] == lod_cell(C::compute, 15));
  CHECK(cells[3] == lod_cell(C::compute, 15));
  CHECK(cells[4] == lod_cell(C::exposed_dp, 11, C::compute, 4));  // 11.25 and 3.75 fifteenths
  CHECK(cells[5] == lod_cell(C::exposed_dp, 15));
}

TEST_CASE("rows that share a line of pixels share its area", "[lod]") {
  // Three rows: one computes all the time, one half of it, one is idle.
  PixelRuns runs(4);
  runs.add(C::compute, 0, 4);
  runs.add(C::compute, 2, 4);
  std::vector<LodCell> cells(4);
  runs.write(cells, 3);
  CHECK(cells[1] == lod_cell(C::compute, 5));
  CHECK(cells[2] == lod_cell(C::compute, 10));
}

TEST_CASE("a line forgets its sums when it is written", "[lod]") {
  PixelRuns runs(130);  // more than two words of borders
  runs.add(C::compute, 3, 129.5);
  std::vector<LodCell> cells(130);
  runs.write(cells, 1);
  CHECK(cells[128] == lod_cell(C::compute, 15));
  runs.add(C::data, 64, 65);
  runs.write(cells, 1);
  for (std::size_t x = 0; x < cells.size(); ++x)
    CHECK(cells[x] == (x == 64 ? lod_cell(C::data, 15) : LodCell{0}));
}

TEST_CASE("the memory of a rank is its fullest amount and no bandwidth or share", "[lod]") {
  HandTrace hand;
  hand.stream(0, "compute", {{"a", 0, 100}});
  hand.stream(1, "compute", {{"a", 0, 100}});
  const auto counter = [&](const char* label, const char* name, double value) {
    StoreBuilder::TrackSpec spec;
    spec.node = "node 0", spec.rank = 0, spec.label = label, spec.kind = TrackKind::counter;
    hand.builder.add_counter(hand.builder.add_track(spec), name, 10, value);
  };
  counter("memory of GPU 0", "allocated bytes", 5e9);
  counter("memory of GPU 1", "allocated bytes", 7e9);
  counter("GPU 0", "memory bandwidth", 9e12);
  counter("GPU 0", "memory utilization %", 1e13);
  const TracePtr t = hand.done();
  const auto found = memory_counters(*t);
  REQUIRE(found.size() == 2);
  REQUIRE(found[0] != kNoId);
  CHECK(t->counters()[found[0]].most == 7e9);
  CHECK(found[1] == kNoId);
}
