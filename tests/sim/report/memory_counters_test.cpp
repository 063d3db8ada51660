#include "sim/report/memory_counters.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
constexpr Nanoseconds kSecond = 1'000'000'000;
/// Passes of one rank, one behind the other.
Timeline passes(const std::vector<std::pair<const char*, int>>& spans, int rank = 0) {
  Timeline timeline;
  timeline.tracks = {{.node = 3, .rank = rank, .stream = "compute"}};
  Nanoseconds now = 0;
  for (const auto& [name, seconds] : spans) {
    timeline.spans.push_back({.track = 0,
                              .name = timeline.names.id_of(name),
                              .start = now,
                              .end = now + seconds * kSecond});
    now += seconds * kSecond;
  }
  return timeline;
}
std::vector<std::pair<Nanoseconds, double>> told(const Timeline& timeline) {
  std::vector<std::pair<Nanoseconds, double>> samples;
  for (const CounterSample& sample : timeline.memory)
    samples.emplace_back(sample.at / kSecond, sample.bytes);
  return samples;
}
}  // namespace

TEST_CASE("activations grow with forward work and shrink with backward work", "[report]") {
  // Two micro-batches, GPipe: 60 bytes stand, 40 more at the peak after the second forward.
  StageMemory stage;
  stage.activations = 40, stage.total = 100;
  Timeline timeline = passes({{"forward", 1}, {"forward", 1}, {"backward", 2}, {"backward", 2}});
  add_memory_counters(ParallelLayout{}, {stage}, timeline);
  CHECK(told(timeline) ==
        std::vector<std::pair<Nanoseconds, double>>{{0, 60}, {1, 80}, {2, 100}, {4, 80}, {6, 60}});
  CHECK(timeline.memory.front().node == 3);
}

TEST_CASE("one micro-batch at a time never holds two", "[report]") {
  // 1F1B on the last stage: the peak is one micro-batch's activations, and both parts of a split
  // backward count.
  StageMemory stage;
  stage.activations = 40, stage.total = 100;
  Timeline timeline = passes({{"forward", 1},
                              {"backward_data", 1},
                              {"backward_weight", 1},
                              {"forward", 1},
                              {"backward_data", 1},
                              {"backward_weight", 1}});
  add_memory_counters(ParallelLayout{}, {stage}, timeline);
  CHECK(told(timeline) == std::vector<std::pair<Nanoseconds, double>>{
                              {0, 60}, {1, 100}, {2, 80}, {3, 60}, {4, 100}, {5, 80}, {6, 60}});
}

TEST_CASE("a rank holds what its stage holds and work without passes says nothing", "[report]") {
  ParallelLayout layout;
  layout.pp = 2;
  StageMemory first, second;
  first.activations = 10, first.total = 20;
  second.stage = 1, second.activations = 1, second.total = 5;
  Timeline timeline = passes({{"forward", 1}, {"backward", 1}}, 1);
  add_memory_counters(layout, {first, second}, timeline);
  CHECK(told(timeline) == std::vector<std::pair<Nanoseconds, double>>{{0, 4}, {1, 5}, {2, 4}});
  Timeline nothing = passes({{"optimizer", 1}});
  add_memory_counters(layout, {first, second}, nothing);
  CHECK(nothing.memory.empty());
}
