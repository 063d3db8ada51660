#include <algorithm>

#include "sim/timeline/filter/filter.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::HandTrace;
using C = SliceCategory;

namespace {
TracePtr small() {
  HandTrace hand;
  hand.stream(
      0, "compute",
      {{"gemm_1", 0, 1000}, {"gemm_2", 1000, 4000}, {"AllReduce", 5000, 9000, C::exposed_dp}});
  hand.stream(1, "compute", {{"gemm_1", 0, 2000}, {"outer", 3000, 9000}, {"inner", 4000, 5000}});
  hand.stream(1, "memcpy", {{"copy", 100, 200, C::other}});
  hand.builder.identify_last_slice("all_reduce", "", 2, 1 << 20);
  return hand.done();
}
/// Names of the hits, by start.
std::vector<std::string> names(const std::string& text) {
  const TracePtr t = small();
  const auto parsed = Filter::parse(text);
  if (const auto* error = std::get_if<FilterError>(&parsed)) FAIL(text << ": " << error->message);
  std::vector<std::string> found;
  const Steps steps = find_steps(*t);
  const BoundFilter bound(std::get<Filter>(parsed), t, &steps);
  for (const SliceId s : bound.find().slices) found.emplace_back(t->name(s));
  std::size_t matched = 0;
  for (SliceId s = 0; s < t->slices(); ++s) matched += bound.matches(s);
  CHECK(matched == found.size());  // one by one and by scan are the same question
  return found;
}
FilterError error_of(const std::string& text) {
  const auto parsed = Filter::parse(text);
  REQUIRE(std::holds_alternative<FilterError>(parsed));
  return std::get<FilterError>(parsed);
}
using Names = std::vector<std::string>;
}  // namespace

TEST_CASE("filters select by name and duration and rank and category", "[filter]") {
  CHECK(names("").size() == 7);
  CHECK(names("name ~ allreduce") == Names{"AllReduce"});
  CHECK(names("allreduce") == Names{"AllReduce"});
  CHECK(names("name = \"gemm_1\"") == Names{"gemm_1", "gemm_1"});
  CHECK(names("name =~ \"^gemm_[2-9]$\"") == Names{"gemm_2"});
  CHECK(names("name in {copy, inner}") == Names{"inner", "copy"});
  CHECK(names("dur > 3us") == Names{"AllReduce", "outer"});
  CHECK(names("dur >= 3us and rank = 0") == Names{"gemm_2", "AllReduce"});
  CHECK(names("dur in 1us..2us") == Names{"gemm_1", "gemm_1", "inner"});
  CHECK(names("category = exposed_dp or stream = memcpy") == Names{"AllReduce", "copy"});
  CHECK(names("not (rank in {0, 7} or depth > 0) and !copy") == Names{"gemm_1", "outer"});
  CHECK(names("rank in 1..5 && dur < 1us") == Names{"copy"});
  CHECK(names("gemm dur > 1us") == Names{"gemm_2", "gemm_1"});  // side by side means and
  CHECK(names("bytes >= 1MiB") == Names{"copy"});
  CHECK(names("start >= 4us and end <= 9us") == Names{"AllReduce", "inner"});
  CHECK(names("self = 5us") == Names{"outer"});  // 6 us less the 1 us inside
  CHECK(names("step = 0").size() == 7);
  CHECK(names("dur != 1us and name ~ gemm_1") == Names{"gemm_1"});
}

TEST_CASE("a wrong filter says where and what was expected", "[filter]") {
  FilterError e = error_of("durr > 1ms");
  CHECK(e.position == 0);
  CHECK(e.length == 4);
  CHECK(e.message == "unknown field \"durr\"");
  CHECK(e.hint.find("dur?") == 0);
  e = error_of("name ~ a and dur > 5");
  CHECK(e.position == 19);
  CHECK(e.message == "a time needs a unit");
  e = error_of("dur > 5 parsecs");
  CHECK(e.message == "a time needs a unit");
  CHECK(error_of("dur > 5parsecs").message == "unknown unit \"parsecs\"");
  CHECK(error_of("(name = a").message == "the parenthesis is not closed");
  CHECK(error_of("name = \"a").message == "the text is not closed");
  CHECK(error_of("category = exposed").message == "unknown category \"exposed\"");
  CHECK(error_of("name < 5").message == "name is a text and has no order");
  CHECK(error_of("rank ~ 5").message == "rank is a number");
  CHECK(error_of("dur in 5ms..1ms").message == "the range ends before it begins");
  CHECK(error_of("name =~ \"(\"").message.find("is no regular expression") == 0);
  CHECK(error_of("a and").message == "something is missing here");
  CHECK(error_of("a )").message.find("was not expected here") != std::string::npos);
  CHECK(error_of(std::string(1000, '(')).message == "the filter is nested too deeply");
}

TEST_CASE("next and previous hits visit every hit once in order of time", "[filter]") {
  const TracePtr t = small();
  const BoundFilter bound(std::get<Filter>(Filter::parse("gemm or copy")), t);
  std::vector<SliceId> forward, backward;
  for (SliceId s = bound.next_after(-1); s != kNoId; s = bound.next_after(t->start(s), s))
    forward.push_back(s);
  for (SliceId s = bound.previous_before(1'000'000); s != kNoId;
       s = bound.previous_before(t->start(s), s))
    backward.push_back(s);
  CHECK(forward.size() == 4);
  std::reverse(backward.begin(), backward.end());
  CHECK(forward == backward);
}

TEST_CASE("completion offers fields then operators then values", "[filter]") {
  CHECK(complete("du", 2).words == Names{"dur"});
  CHECK(complete("name ", 5).words == Names{"=", "!=", "~", "!~", "=~", "in"});
  CHECK(complete("category = exposed_d", 20).words == Names{"exposed_dp"});
  const TracePtr t = small();
  CHECK(complete("name = gem", 10, t.get()).words == Names{"gemm_1", "gemm_2"});
}

TEST_CASE("ticks stand where hits begin", "[filter]") {
  const TracePtr t = small();
  const std::vector<SliceId> hits{test::slice_named(*t, "gemm_2", 1000),
                                  test::slice_named(*t, "AllReduce", 5000)};
  const auto ticks = hit_ticks(*t, hits, 0, 10'000, 10);
  CHECK(ticks == std::vector<std::uint8_t>{0, 1, 0, 0, 0, 1, 0, 0, 0, 0});
}

TEST_CASE("a scan in blocks finds what slice by slice is found", "[filter]") {
  // Two lanes across several blocks of 4096; durations i % 300 us, one of 5 s (past 32 bits of
  // nanoseconds), names by turns.
  HandTrace hand;
  std::vector<test::HandSlice> list;
  Nanoseconds at = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Nanoseconds length = i == 7777 ? 5'000'000'000 : i % 300 * 1000;
    list.push_back(
        {"op_" + std::to_string(i % 7), at, at + length, i % 3 == 0 ? C::exposed_dp : C::compute});
    at += length + 10;
  }
  hand.stream(0, "compute", list);
  hand.stream(1, "gather", list);
  const TracePtr t = hand.done();
  for (const char* text :
       {"dur > 4s", "dur >= 299us", "dur < 1us", "dur in {0ns, 5us, 5s}", "dur > 9s",
        "op_3 and dur > 100us", "op_1 or (dur < 40us and stream = gather)",
        "not (op_2 or dur > 50us) and start > 1s", "not dur > 4s and name in {op_1, op_2}",
        "rank = 1 and not op_0 and (dur < 10us or end > 2s)"}) {
    INFO(text);
    const BoundFilter bound(std::get<Filter>(Filter::parse(text)), t);
    std::vector<SliceId> one_by_one;
    for (SliceId s = 0; s < t->slices(); ++s)
      if (bound.matches(s)) one_by_one.push_back(s);
    const BoundFilter::Hits hits = bound.find();
    CHECK(hits.slices == one_by_one);
    CHECK(hits.total == static_cast<std::int64_t>(one_by_one.size()));
    CHECK(bound.find(3).slices.size() == std::min<std::size_t>(3, one_by_one.size()));
  }
  // 2 lanes x 1 slice of 5 s; 2 x 33 of 299 us (i % 300 = 299 below 10 000) and the 5 s ones
  CHECK(BoundFilter(std::get<Filter>(Filter::parse("dur > 4s")), t).find().total == 2);
  CHECK(BoundFilter(std::get<Filter>(Filter::parse("dur >= 299us")), t).find().total == 68);
}
