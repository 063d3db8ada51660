#include <cmath>

#include "sim/timeline/steps/steps.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::HandTrace;
using C = SliceCategory;

TEST_CASE("profiler marks number the steps of each rank", "[steps]") {
  HandTrace hand;
  hand.stream(0, "host", {{"ProfilerStep#7", 0, 100}, {"ProfilerStep#8", 100, 210}},
              TrackKind::host_thread);
  hand.stream(1, "host", {{"ProfilerStep#7", 5, 103}, {"ProfilerStep#8", 103, 200}},
              TrackKind::host_thread);
  const TracePtr t = hand.done();
  const Steps steps = find_steps(*t);
  CHECK(steps.how == "ProfilerStep");
  CHECK(steps.is_marked);
  CHECK(steps.numbers == std::vector<std::int64_t>{7, 8});
  CHECK((steps.common[0].begin == 0 && steps.common[0].end == 103));
  CHECK(steps.of(1, 1).begin == 103);
  CHECK(steps.step_at(0, 99) == 0);
  CHECK(steps.step_at(0, 100) == 1);
  CHECK(steps.step_at(1, 101) == 0);
  CHECK(steps.step_at(0, 210) == -1);
}

TEST_CASE("without marks a step ends where computing starts behind an optimizer", "[steps]") {
  HandTrace hand;
  for (int rank = 0; rank < 2; ++rank)
    hand.stream(rank, "compute",
                {{"f", 0, 10},
                 {"adam", 10, 12, C::optimizer},
                 {"adam", 12, 14, C::optimizer},
                 {"f", 20, 30},
                 {"adam", 30, 34, C::optimizer}});
  const Steps steps = find_steps(*hand.done());
  CHECK(steps.how == "optimizer ends");
  CHECK(!steps.is_marked);
  REQUIRE(steps.numbers.size() == 2);
  CHECK((steps.of(0, 1).begin == 0 && steps.of(0, 1).end == 20));
  CHECK((steps.of(1, 1).begin == 20 && steps.of(1, 1).end == 34));
}

TEST_CASE("a trace without steps is one step", "[steps]") {
  HandTrace hand;
  hand.stream(0, "compute", {{"f", 5, 10}});
  const Steps steps = find_steps(*hand.done());
  CHECK(steps.how == "whole trace");
  CHECK(steps.numbers.size() == 1);
}

TEST_CASE("the step matrix sets a slow rank apart by its busy time", "[steps]") {
  // busy 10, 10, 13 of steps of 20: ratios 1, 1, 1.3 to the median 10
  HandTrace hand;
  for (int rank = 0; rank < 3; ++rank) {
    hand.stream(rank, "host", {{"step", 0, 20}}, TrackKind::host_thread);
    hand.stream(rank, "compute", {{"f", 0, rank == 2 ? 13 : 10}});
  }
  const TracePtr t = hand.done();
  const StepMatrix m = step_matrix(*t, find_steps(*t));
  REQUIRE(m.ratio.size() == 3);
  CHECK(m.seconds[0] == Approx(20e-9));
  CHECK(m.ratio[0] == Approx(1));
  CHECK(m.ratio[2] == Approx(1.3));
}
