#include "sim/timeline/lod/lod.hpp"
#include "sim/timeline/lod/cell_sums.hpp"
#include "sim/timeline/lod/counter_mip.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::HandTrace;
using C = SliceCategory;

namespace {
/// Intervals of a rank's state in a window; adjacent equal states are one.
struct StateSpan {
  Nanoseconds begin = 0, end = 0;
  SliceCategory category{};
};
std::vector<StateSpan> state_spans(const TraceStore& trace, const LodRow& row, Nanoseconds begin,
                                   Nanoseconds end) {
  std::vector<StateSpan> spans;
  sweep_states(
      trace, state_categories(trace), row, begin, end,
      [&](Nanoseconds from, Nanoseconds to, SliceCategory category) {
        if (!spans.empty() && spans.back().end == from && spans.back().category == category)
          spans.back().end = to;
        else
          spans.push_back({from, to, category});
      });
  return spans;
}
/// Deterministic noise for laws over many shapes.
struct Noise {
  std::uint64_t state;
  int below(int n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
  }
};
TracePtr noisy(int ranks, int slices, std::uint64_t seed) {
  HandTrace hand;
  Noise noise{seed};
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<test::HandSlice> list;
    Nanoseconds at = 0;
    for (int i = 0; i < slices; ++i) {
      const Nanoseconds begin = at + noise.below(50), end = begin + 1 + noise.below(100);
      list.push_back({"x", begin, end, noise.below(4) == 0 ? C::exposed_dp : C::compute});
      at = end;
    }
    hand.stream(rank, "s", list);
  }
  return hand.done();
}
}  // namespace

TEST_CASE("a pixel covered by one slice shows it whole and an empty one is idle", "[lod]") {
  // 4 pixels of 25 ns: compute 0..50, nothing 50..75, half of the last under exposed communication
  HandTrace hand;
  hand.stream(0, "s", {{"a", 0, 50}, {"b", 75, 87, C::exposed_dp}, {"end", 100, 100}});
  const TracePtr t = hand.done();
  const LodPyramid pyramid(t, {LodRow{{0}}});
  std::vector<LodCell> cells(4);
  REQUIRE(pyramid.query(
      {.begin = 0, .end = 100, .first_row = 0, .rows = 1, .width = 4, .height = 1}, cells));
  CHECK(cells[0] == lod_cell(C::compute, 15));
  CHECK(cells[1] == lod_cell(C::compute, 15));
  CHECK(is_idle(cells[2]));
  CHECK(cells[3] == lod_cell(C::exposed_dp, 7));  // 12 of 25 ns: 7.2 fifteenths
}

TEST_CASE("a failure of one nanosecond marks its cell at any zoom", "[lod]") {
  HandTrace hand;
  hand.stream(
      0, "s",
      {{"a", 0, 500'000}, {"lost link", 500'000, 500'001, C::failure}, {"b", 500'001, 1'000'000}});
  for (int rank = 1; rank < 64; ++rank) hand.stream(rank, "s", {{"a", 0, 1'000'000}});
  const TracePtr t = hand.done();
  const LodPyramid pyramid(t, lane_rows(*t));
  for (const int width : {1, 3, 64, 1000}) {
    std::vector<LodCell> cells(static_cast<std::size_t>(width));
    // All rows in one pixel: from the pyramid; and one row alone: exact.
    for (const double rows : {64.0, 1.0}) {
      pyramid.query(
          {.begin = 0, .end = 1'000'000, .first_row = 0, .rows = rows, .width = width, .height = 1},
          cells);
      int marked = 0;
      for (const LodCell cell : cells)
        marked += (second_share(cell) > 0 && second_category(cell) == C::failure) ||
                  (first_share(cell) > 0 && first_category(cell) == C::failure);
      CHECK(marked >= 1);
    }
  }
}

TEST_CASE("the pyramid's overview holds the same time as the slices", "[lod]") {
  // Cells have fifteenths: over many cells the mean share agrees with the true one within half of
  // one.
  for (const std::uint64_t seed : {1ULL, 2ULL, 3ULL}) {
    const TracePtr t = noisy(37, 3000, seed);
    const LodPyramid pyramid(t, lane_rows(*t));
    const LodQuery q{
        .begin = t->begin(), .end = t->end(), .first_row = 0, .rows = 37, .width = 97, .height = 9};
    std::vector<LodCell> coarse(97 * 9), exact(97 * 9);
    pyramid.query(q, coarse);
    pyramid.query_exact(q, exact);
    double from_pyramid = 0, from_slices = 0;
    for (std::size_t i = 0; i < coarse.size(); ++i) {
      from_pyramid += first_share(coarse[i]) + second_share(coarse[i]);
      from_slices += first_share(exact[i]) + second_share(exact[i]);
    }
    CHECK(from_pyramid / from_slices == Approx(1).margin(0.04));
  }
}

TEST_CASE("a pyramid built by several threads has the same cells", "[lod]") {
  const TracePtr t = noisy(50, 400, 9);
  const LodPyramid one(t, lane_rows(*t)), many(t, lane_rows(*t), {}, 4);
  const LodQuery q{
      .begin = t->begin(), .end = t->end(), .first_row = 0, .rows = 50, .width = 64, .height = 10};
  std::vector<LodCell> a(640), b(640);
  one.query(q, a), many.query(q, b);
  CHECK(a == b);
}

TEST_CASE("a window outside of the trace is idle", "[lod]") {
  const TracePtr t = noisy(3, 100, 4);
  const LodPyramid pyramid(t, lane_rows(*t));
  std::vector<LodCell> cells(30, LodCell{0x1111});
  pyramid.query({.begin = t->end() + 10,
                 .end = t->end() + 1000,
                 .first_row = -5,
                 .rows = 20,
                 .width = 10,
                 .height = 3},
                cells);
  for (const LodCell cell : cells) CHECK(is_idle(cell));
}

TEST_CASE("states of a rank follow the priorities and add up to its busy time", "[lod]") {
  //  compute      |=====|          0..50
  //  nccl      |========|===|     20..80    under compute until 50, then exposed
  //  wait                  |==|   80..100
  HandTrace hand;
  hand.stream(0, "compute", {{"a", 0, 50}, {"late", 120, 130}});
  hand.stream(0, "nccl", {{"r", 20, 80, C::exposed_dp}, {"w", 80, 100, C::straggler_wait}});
  const TracePtr t = hand.done();
  const auto rows = state_rows(*t);
  const auto spans = state_spans(*t, rows[0], 0, 130);
  REQUIRE(spans.size() == 4);
  CHECK((spans[0].begin == 0 && spans[0].end == 50 && spans[0].category == C::compute));
  CHECK((spans[1].begin == 50 && spans[1].end == 80 && spans[1].category == C::exposed_dp));
  CHECK((spans[2].begin == 80 && spans[2].end == 100 && spans[2].category == C::straggler_wait));
  CHECK((spans[3].begin == 120 && spans[3].end == 130));
  const auto times = state_times(*t, state_categories(*t), rows[0], 0, 130);
  CHECK(times[static_cast<std::size_t>(C::compute)] == 60);
}

TEST_CASE("gaps of a pipeline stage are bubbles and gaps elsewhere idle", "[lod]") {
  HandTrace hand;
  hand.stream(0, "compute", {{"a", 0, 10}, {"b", 30, 40}});
  hand.stream(0, "recv", {{"recv", 25, 30, C::exposed_pp}});
  hand.stream(1, "compute", {{"a", 0, 10}, {"b", 30, 40}});
  const TracePtr t = hand.done();
  const auto rows = state_rows(*t);
  CHECK(state_times(*t, state_categories(*t), rows[0], 0,
                    50)[static_cast<std::size_t>(C::bubble)] == 15);  // 10..25, nothing behind 40
  CHECK(state_times(*t, state_categories(*t), rows[1], 0,
                    50)[static_cast<std::size_t>(C::bubble)] == 0);
}

TEST_CASE("small slices fold into runs and large ones stay themselves", "[lod]") {
  HandTrace hand;
  std::vector<test::HandSlice> list;
  for (int i = 0; i < 100; ++i) list.push_back({"small", i * 10, i * 10 + 5});
  list.push_back({"large", 1000, 2000});
  for (int i = 0; i < 50; ++i)
    list.push_back({"small", 2000 + i * 10, 2000 + i * 10 + 5, C::exposed_dp});
  list.push_back({"far", 9000, 9001});
  hand.stream(0, "s", list);
  const TracePtr t = hand.done();
  std::vector<DrawItem> items;
  draw_items(*t, 0, 0, 10'000, 100, items);
  REQUIRE(items.size() == 4);
  CHECK(items[0].count == 100);
  CHECK(items[1].count == 1);
  CHECK(t->name(items[1].slice) == "large");
  CHECK(items[2].count == 50);
  CHECK(items[2].category == C::exposed_dp);
  CHECK(items[3].begin == 9000);
  // Every slice is in exactly one item, at any fold.
  for (const Nanoseconds least : {1, 7, 60, 5000}) {
    items.clear();
    draw_items(*t, 0, 0, 10'000, least, items);
    std::uint32_t count = 0;
    for (const DrawItem& item : items) {
      CHECK(item.slice == count);
      count += item.count;
    }
    CHECK(count == 152);
  }
}

TEST_CASE("counter columns hold the least and the most of their time and what held before",
          "[lod]") {
  CounterSeries series;
  for (int i = 0; i < 1000; ++i)
    series.times.push_back(i * 10), series.values.push_back(i == 500 ? 99 : i % 7);
  const CounterMip mip(series);
  const auto columns = mip.columns(0, 10'000, 10);
  for (int x = 0; x < 10; ++x) {
    double least = 1e9, most = -1e9;
    for (int i = std::max(0, x * 100 - 1); i < x * 100 + 100; ++i)
      least = std::min(least, series.values[static_cast<std::size_t>(i)]),
      most = std::max(most, series.values[static_cast<std::size_t>(i)]);
    CHECK(columns[static_cast<std::size_t>(x)].least == least);
    CHECK(columns[static_cast<std::size_t>(x)].most == most);
  }
  CHECK(columns[5].most == 99);
  CHECK(!mip.columns(-100, -50, 4)[3].is_set);
  CHECK(mip.columns(20'000, 30'000, 4)[3].last == series.values.back());
}

TEST_CASE("a palette blends by share and keeps rare categories visible", "[lod]") {
  std::array<Rgb, kSliceCategories> palette{};
  palette[static_cast<std::size_t>(C::compute)] = {0, 0, 255};
  palette[static_cast<std::size_t>(C::failure)] = {255, 0, 255};
  const auto blend = cell_colours(palette, {0, 0, 0});
  CHECK(blend[lod_cell(C::compute, 15)] == 0xFF0000FF);
  CHECK(blend[lod_cell(C::compute, 5)] == 0xFF000055);  // 5/15 of 255
  CHECK(blend[0] == 0xFF000000);
  CHECK((blend[lod_cell(C::compute, 14, C::failure, 1)] >> 16 & 0xFF) >= 127);
  CHECK(cell_colours(palette, {0, 0, 0}, Reduction::dominant)[lod_cell(C::compute, 2)] ==
        0xFF0000FF);
}
