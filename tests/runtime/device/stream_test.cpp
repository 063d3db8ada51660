#include <chrono>
#include <thread>

#include "runtime/cpu/cpu_stream.hpp"
#include "sim/core/result.hpp"
#include "tests/runtime/device/on_device.hpp"

namespace stepcast::runtime::test {

TEST_CASE("work behind an event of another stream sees what came before it", "[runtime][stream]") {
  OnDevice on;
  const auto other = on.device().new_stream("other");
  const auto event = on.device().new_event();
  const std::int64_t n = 1 << 20;
  const View x = on.zeros(n), one = on.put(std::vector<float>(static_cast<std::size_t>(n), 1.0f));
  for (int round = 0; round < 20; ++round) {
    on.kernels().accumulate(on.stream(), one, x, n);
    make_wait(*other, on.stream(), *event);
    on.kernels().accumulate(*other, one, x, n);
    make_wait(on.stream(), *other, *event);
  }
  const auto got = on.get(x, n);  // 20 rounds of two additions, never lost
  REQUIRE(got.front() == 40.0f);
  REQUIRE(got.back() == 40.0f);
}

TEST_CASE("the host enqueues without waiting and an event tells when its stream got there",
          "[runtime][stream]") {
  OnDevice on;
  const auto event = on.device().new_event(true);
  const std::int64_t n = 512;
  const View a = on.put(normal_numbers(n * n, 1)), c = on.zeros(n * n);
  for (int i = 0; i < 20; ++i)
    on.kernels().gemm(on.stream(), {.a = a, .b = a, .c = c, .m = n, .n = n, .k = n});
  on.stream().record(*event);
  REQUIRE_FALSE(
      event->is_reached());  // 20 products of 0.27 GFLOP take a millisecond each at the very least
  event->wait();
  REQUIRE(event->is_reached());
}

TEST_CASE("a failure reaches whoever waits and later work is dropped", "[runtime][stream]") {
  OnDevice on;
  if (std::string(on.stream().name()) != "test") return;
  auto* stream = dynamic_cast<CpuStream*>(&on.stream());
  if (stream == nullptr) {
    WARN("skipped: the backend under test is not cpu");
    return;
  }
  const auto event = on.device().new_event();
  const auto other = on.device().new_stream("other");
  bool ran = false;
  stream->enqueue([] { throw EnvironmentError("the link is down"); });
  stream->enqueue([&ran] { ran = true; });
  stream->record(*event);
  other->wait_for(*event);
  REQUIRE_THROWS_WITH(event->wait(), "the link is down");
  REQUIRE_THROWS_WITH(stream->synchronise(), "the link is down");
  REQUIRE_THROWS_WITH(other->synchronise(), "the link is down");
  REQUIRE_FALSE(ran);
}

TEST_CASE("memory comes aligned and is counted and too much of it is refused with figures",
          "[runtime][stream]") {
  OnDevice on;
  const Bytes before = on.device().allocated();
  {
    const Buffer buffer(on.device(), Bytes(1000));
    REQUIRE(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    REQUIRE((on.device().allocated() - before).value >= 1000);
  }
  REQUIRE(on.device().allocated() == before);
  REQUIRE_THROWS_WITH(Buffer(on.device(), Bytes(std::int64_t{1} << 50)),
                      Catch::Contains("1125899906842624 bytes"));
}

TEST_CASE("a missing cuda backend says what is missing and what to do and what else there is",
          "[runtime][backend]") {
  if (backend_of("cuda")->probe().is_usable) {
    WARN("skipped: this machine has a GPU");
    return;
  }
  const ProbeReport report = backend_of("cuda")->probe();
  REQUIRE_FALSE(report.missing.empty());
  REQUIRE_FALSE(report.remedy.empty());
  REQUIRE_THAT(report.alternative, Catch::Contains("--backend cpu"));
  REQUIRE_THROWS_AS(backend_of("cuda")->open(0), EnvironmentError);
  REQUIRE_THROWS_WITH(backend_of("cudaa"), Catch::Contains("did you mean \"cuda\"?"));
}

TEST_CASE("recorded work carries the name that was open when it was enqueued",
          "[runtime][recorder]") {
  OnDevice on;
  Recorder& recorder = on.device().recorder();
  const View x = on.zeros(1 << 16);
  recorder.start();
  {
    const OpScope scope(recorder, "norm1", Category::compute, 3);
    on.kernels().scale(on.stream(), x, 2.0f, 1 << 16);
    on.kernels().scale(on.stream(), x, 2.0f, 1 << 16);
  }
  {
    const OpScope scope(recorder, "adam", Category::optimizer);
    on.kernels().scale(on.stream(), x, 2.0f, 1 << 16);
  }
  on.stream().synchronise();
  recorder.stop();
  const Timeline timeline =
      timeline_of(recorder.labels(), recorder.activities(), recorder.streams(), 0, 5);
  REQUIRE(timeline.origin == "measured");
  std::vector<std::string> names;
  for (const Span& span : timeline.spans)
    if (timeline.tracks[span.track].stream == "test")
      names.push_back(timeline.names.text_of(span.name));
  REQUIRE(names ==
          std::vector<std::string>{"norm1", "adam"});  // two kernels of one op are one span
  REQUIRE(timeline.spans.front().micro_batch == 3);
  REQUIRE(timeline.tracks.front().rank == 5);
}
}  // namespace stepcast::runtime::test
