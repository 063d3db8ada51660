#include "calibrate/step/step_accounting.hpp"

#include <numeric>

#include "tests/support/test.hpp"

namespace stepcast::calibrate::test {
namespace {
struct Drawing {
  Timeline timeline;
  Drawing() { timeline.tracks = {{0, 0, "compute"}, {0, 0, "gradient"}, {0, 0, "host"}}; }
  void span(std::uint32_t track, Category category, Nanoseconds from, Nanoseconds to) {
    timeline.spans.push_back(
        {.track = track, .name = 0, .category = category, .start = from, .end = to});
  }
};
double ms(const Breakdown& b, Category c) { return b[static_cast<std::size_t>(c)] * 1e3; }
}  // namespace

TEST_CASE("each moment of a measured step is owned once", "[calibrate]") {
  // ms        0         4         8        12   13       16
  // compute   [ backward       ]                [ adam   ]
  // gradient            [ bucket 0    ][ bucket 1 ]            bucket 1 ends at 12, a gap of 1
  // follows host      [ issues everything        ]                     does not count
  Drawing d;
  d.span(0, Category::compute, 0, 8'000'000);
  d.span(1, Category::exposed_dp, 4'000'000, 10'000'000);
  d.span(1, Category::exposed_dp, 10'000'000, 12'000'000);
  d.span(2, Category::compute, 0, 11'000'000);
  d.span(0, Category::optimizer, 13'000'000, 16'000'000);
  const Breakdown b = step_breakdown(d.timeline, 0, 16'000'000);
  REQUIRE(ms(b, Category::compute) == Approx(8));
  REQUIRE(ms(b, Category::exposed_dp) ==
          Approx(4));  // 8 to 12: the part that compute does not hide
  REQUIRE(ms(b, Category::launch_gap) == Approx(1));
  REQUIRE(ms(b, Category::optimizer) == Approx(3));
  REQUIRE(std::accumulate(b.begin(), b.end(), 0.0) == Approx(16e-3));
}
TEST_CASE("a collective on the compute stream is exposed and spans beyond the step are cut",
          "[calibrate]") {
  Drawing d;
  d.span(0, Category::exposed_tp, -2'000'000, 3'000'000);
  d.span(0, Category::compute, 3'000'000, 20'000'000);
  const Breakdown b = step_breakdown(d.timeline, 0, 10'000'000);
  REQUIRE(ms(b, Category::exposed_tp) == Approx(3));
  REQUIRE(ms(b, Category::compute) == Approx(7));
}
}  // namespace stepcast::calibrate::test
