#include "sim/engine/lowering/segment_builder.hpp"

#include <algorithm>

#include "sim/core/random.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
double latest(const std::vector<Segment::Bound>& bounds, double f) {
  double end = 0;
  for (const Segment::Bound& b : bounds)
    end = std::max(end, b.issued + b.fixed_left + f * b.scaled_left);
  return end;
}
}  // namespace

TEST_CASE("a segment sums its ops and knows what every launch leaves to do", "[lowering]") {
  // Kernels of 3, 1, 2 s issued after 1, 2, 3 s; the middle one is a collective. From launch j on:
  // 1+3+1+2 = 7, 2+1+2 = 5, 3+2 = 5; at f = 1 the first rules.
  NameTable names;
  SegmentBuilder builder(names);
  builder.add("a", Category::compute, Seconds(3), Seconds(1), true);
  builder.add("b", Category::exposed_tp, Seconds(1), Seconds(1), false);
  builder.add("c", Category::compute, Seconds(2), Seconds(1), true);
  const Segment segment = builder.take();
  REQUIRE(segment.scaled == 5);
  REQUIRE(segment.fixed == 1);
  REQUIRE(segment.host == 3);
  REQUIRE(latest(segment.bounds, 1) == 7);
  REQUIRE(latest(segment.bounds, 2) == 1 + 1 + 2 * 5);
  REQUIRE(segment.by_category[static_cast<std::size_t>(Category::exposed_tp)] == 1);
  REQUIRE(builder.empty());
}

TEST_CASE("dropping dominated bounds changes no finish for any slowdown", "[lowering]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<Segment::Bound> all;
    double issued = 0, scaled = 0, fixed = 0;
    auto draw = [&, n = std::uint64_t{0}]() mutable {
      return uniform_from_bits(mixed_bits(seed, ++n));
    };
    for (int i = 0; i < 30; ++i) {
      scaled += draw();
      fixed += draw() < 0.3 ? draw() : 0;
    }
    for (int i = 0; i < 30; ++i) {
      issued += draw() * 1.5;
      all.push_back({issued, scaled, fixed});
      scaled = std::max(0.0, scaled - draw());
      fixed = std::max(0.0, fixed - 0.2 * draw());
    }
    const std::vector<Segment::Bound> kept = undominated(all);
    INFO("seed " << seed << " kept " << kept.size());
    REQUIRE(!kept.empty());
    REQUIRE(kept.size() <= all.size());
    for (double f : {0.13, 0.5, 0.9, 1.0, 1.1, 1.5, 3.0, 10.0, 60.0})
      REQUIRE(latest(kept, f) == Approx(latest(all, f)).epsilon(1e-12));
  }
}
