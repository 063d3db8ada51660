#include "sim/schedule/schedule.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
struct Case {
  ScheduleKind kind;
  int pp, micro_batches, chunks;
};

std::vector<Case> small_cases() {
  std::vector<Case> cases;
  for (int pp = 1; pp <= 6; ++pp)
    for (int m = 1; m <= 13; ++m) {
      for (ScheduleKind kind :
           {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::zero_bubble})
        cases.push_back({kind, pp, m, 1});
      for (int chunks = 1; chunks <= 4; ++chunks)
        cases.push_back({ScheduleKind::interleaved, pp, m, chunks});
    }
  return cases;
}
std::string text_of(const Case& c) {
  return std::string(text_of(c.kind)) + " pp " + std::to_string(c.pp) + " m " +
         std::to_string(c.micro_batches) + " v " + std::to_string(c.chunks);
}
std::vector<std::vector<Work>> orders_of(const Case& c) {
  std::vector<std::vector<Work>> stages;
  for (int stage = 0; stage < c.pp; ++stage)
    stages.push_back(schedule_work(c.kind, stage, c.pp, c.micro_batches, c.chunks));
  return stages;
}
std::string text_of(const std::vector<Work>& order) {
  std::string text;
  for (const Work& work : order) {
    if (!text.empty()) text += ' ';
    text += "FBBW"[static_cast<int>(work.kind)];
    text += std::to_string(work.micro_batch);
    text.append(static_cast<std::size_t>(work.chunk), '\'');
  }
  return text;
}
/// Position of (stage, chunk) along the pipeline.
int position(int stage, int chunk, int pp) { return chunk * pp + stage; }

/// Works that never get to run when every stage follows its list and a work waits for its
/// neighbour's message.
int stuck_works(const Case& c) {
  const std::vector<std::vector<Work>> stages = orders_of(c);
  std::set<std::pair<int, int>> forward_done, backward_done;  // (position, micro-batch)
  std::vector<std::size_t> next(stages.size(), 0);
  const int last = c.pp * c.chunks - 1;
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < c.pp; ++stage) {
      const auto s = static_cast<std::size_t>(stage);
      while (next[s] < stages[s].size()) {
        const Work& work = stages[s][next[s]];
        const int at = position(stage, work.chunk, c.pp);
        if (work.is_forward()) {
          if (at > 0 && !forward_done.contains({at - 1, work.micro_batch})) break;
          forward_done.insert({at, work.micro_batch});
        } else if (work.kind != Work::Kind::backward_weight) {
          if (!forward_done.contains({at, work.micro_batch})) break;
          if (at < last && !backward_done.contains({at + 1, work.micro_batch})) break;
          backward_done.insert({at, work.micro_batch});
        }
        ++next[s];
        moved = true;
      }
    }
  }
  int stuck = 0;
  for (std::size_t s = 0; s < stages.size(); ++s)
    stuck += static_cast<int>(stages[s].size() - next[s]);
  return stuck;
}
/// Largest number of (micro-batch, chunk) whose forward ran and whose last backward part did not.
int peak_in_flight(const std::vector<Work>& order, bool is_split) {
  int alive = 0, peak = 0;
  for (const Work& work : order) {
    if (work.is_forward()) ++alive;
    const bool frees =
        is_split ? work.kind == Work::Kind::backward_weight : work.kind == Work::Kind::backward;
    if (frees) --alive;
    peak = std::max(peak, alive);
  }
  return peak;
}
}  // namespace

TEST_CASE(
    "every schedule runs each pass of each micro-batch and chunk once with backward after forward",
    "[schedule]") {
  for (const Case& c : small_cases()) {
    INFO(text_of(c));
    for (const std::vector<Work>& order : orders_of(c)) {
      std::map<std::tuple<Work::Kind, int, int>, std::size_t> at;
      for (std::size_t i = 0; i < order.size(); ++i)
        REQUIRE(
            at.emplace(std::tuple(order[i].kind, order[i].micro_batch, order[i].chunk), i).second);
      const bool is_split = c.kind == ScheduleKind::zero_bubble;
      REQUIRE(order.size() ==
              static_cast<std::size_t>(c.micro_batches * c.chunks * (is_split ? 3 : 2)));
      for (int m = 0; m < c.micro_batches; ++m)
        for (int chunk = 0; chunk < c.chunks; ++chunk) {
          const std::size_t f = at.at({Work::Kind::forward, m, chunk});
          const std::size_t b =
              at.at({is_split ? Work::Kind::backward_data : Work::Kind::backward, m, chunk});
          REQUIRE(f < b);
          if (is_split) REQUIRE(b < at.at({Work::Kind::backward_weight, m, chunk}));
        }
    }
  }
}

TEST_CASE("all stages together never wait for each other in a circle", "[schedule]") {
  for (const Case& c : small_cases()) {
    INFO(text_of(c));
    REQUIRE(stuck_works(c) == 0);
  }
}

TEST_CASE("a stage holds no more micro-batches than its schedule promises", "[schedule]") {
  for (const Case& c : small_cases()) {
    INFO(text_of(c));
    const std::vector<std::vector<Work>> stages = orders_of(c);
    for (int stage = 0; stage < c.pp; ++stage) {
      const int peak = peak_in_flight(stages[static_cast<std::size_t>(stage)],
                                      c.kind == ScheduleKind::zero_bubble);
      if (c.kind == ScheduleKind::gpipe) REQUIRE(peak == c.micro_batches);
      if (c.kind == ScheduleKind::one_f_one_b)
        REQUIRE(peak == std::min(c.micro_batches, c.pp - stage));
      if (c.kind == ScheduleKind::zero_bubble) REQUIRE(peak <= std::min(c.micro_batches, c.pp));
      // Interleaved: the warm-up, plus the forward that opens the steady phase.
      if (c.kind == ScheduleKind::interleaved)
        REQUIRE(peak <= std::min(c.micro_batches * c.chunks,
                                 (c.pp - stage - 1) * 2 + (c.chunks - 1) * c.pp + 1));
    }
  }
}

TEST_CASE("orders are those of the papers", "[schedule]") {
  // PipeDream-Flush, 3 stages, 4 micro-batches.
  REQUIRE(text_of(schedule_work(ScheduleKind::one_f_one_b, 0, 3, 4, 1)) ==
          "F0 F1 F2 B0 F3 B1 B2 B3");
  REQUIRE(text_of(schedule_work(ScheduleKind::one_f_one_b, 2, 3, 4, 1)) ==
          "F0 B0 F1 B1 F2 B2 F3 B3");
  // ZB-H1: the last of 3 stages lets W trail by 2 micro-batches.
  REQUIRE(text_of(schedule_work(ScheduleKind::zero_bubble, 2, 3, 4, 1)) ==
          "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
  REQUIRE(text_of(schedule_work(ScheduleKind::zero_bubble, 0, 3, 4, 1)) ==
          "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  // Megatron, pp 2, v 2, 4 micro-batches. Stage 1 warms up with (2-1-1)*2 + (2-1)*2 = 2 forwards; '
  // marks chunk 1.
  REQUIRE(text_of(schedule_work(ScheduleKind::interleaved, 1, 2, 4, 2)) ==
          "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
}
