#include "sim/import/kineto/kineto.hpp"
#include "sim/core/result.hpp"
#include "sim/import/chrome_json/chrome_json.hpp"
#include "sim/import/common/collective_match.hpp"
#include "sim/import/common/nccl_identity.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "sim/import/common/trace_timeline.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/trace_workload.hpp"
#include "tests/support/temp_path.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::string event(const char* cat, const char* name, int pid, int tid, double ts, double dur,
                  const std::string& args = "{}") {
  char buffer[1000];
  std::snprintf(
      buffer, sizeof buffer,
      R"({"ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d, "ts": %.3f, "dur": %.3f, "args": %s})",
      cat, name, pid, tid, ts, dur, args.c_str());
  return buffer;
}
std::string document(
    const std::vector<std::string>& events,
    const std::string& rest = R"("distributedInfo": {"rank": 3, "world_size": 4},)") {
  return "{\"schemaVersion\": 1, " + rest + " \"traceEvents\": [\n" + joined(events, ",\n") +
         "\n], \"traceName\": \"t.json\"}\n";
}
/// One step of 1000 us: a kernel 100..400, an all-reduce 300..700 that hides 100 us behind it.
std::vector<std::string> one_step(int number, double at, double late = 0) {
  return {
      event("user_annotation", ("ProfilerStep#" + std::to_string(number)).c_str(), 9, 9, at, 1000),
      event("cuda_runtime", "cudaLaunchKernel", 9, 9, at + 50, 5,
            "{\"correlation\": " + std::to_string(number * 10 + 1) + "}"),
      event("kernel", "gemm", 0, 7, at + 100, 300,
            "{\"correlation\": " + std::to_string(number * 10 + 1) + "}"),
      event("user_annotation", "nccl:all_reduce", 9, 9, at + 60, 20,
            R"({"Input Dims": [[1000, 10]], "Input type": ["float"]})"),
      event("cuda_runtime", "cudaLaunchKernel", 9, 9, at + 65, 5,
            "{\"correlation\": " + std::to_string(number * 10 + 2) + "}"),
      event("kernel", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", 0, 20,
            at + 300 + late, 400 - late,
            "{\"correlation\": " + std::to_string(number * 10 + 2) + "}")};
}
std::vector<std::string> two_steps(double at = 1e6, double late = 0) {
  auto all = one_step(1, at, late);
  for (auto& e : one_step(2, at + 1000, late)) all.push_back(e);
  return all;
}
std::string message_of(const std::string& content, const char* name = "bad.json") {
  const test::TempPath file(name, content);
  try {
    kineto::read_trace(file.path);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}
}  // namespace

TEST_CASE("a step's compute and communication and exposed communication are what the drawing says",
          "[kineto]") {
  const test::TempPath file("a.json", document(two_steps()));
  const RankTrace trace = kineto::read_trace(file.path);
  REQUIRE(trace.rank == 3);
  const auto accounts = accounts_of(trace);
  REQUIRE(accounts.size() == 2);
  REQUIRE(accounts[0].period.value == Approx(1000e-6));
  REQUIRE(accounts[0].compute.value == Approx(300e-6));
  REQUIRE(accounts[0].communication.value == Approx(400e-6));
  REQUIRE(accounts[0].exposed_communication.value == Approx(300e-6));  // 400..700
  REQUIRE(accounts[0].kernel_span.value == Approx(600e-6));            // 100..700
  REQUIRE(accounts[0].device_idle.value == Approx(400e-6));            // 1000 - 600
}

TEST_CASE("the annotation around the launch names the collective when the kernel's name lies",
          "[kineto]") {
  const test::TempPath file("a.json", document(two_steps()));
  const RankTrace trace = kineto::read_trace(file.path);
  for (const TraceEvent& e : trace.events)
    if (e.kind == EventKind::collective) {
      const CollectiveCall& call = trace.collectives[e.collective];
      REQUIRE(call.collective == Collective::all_reduce);
      REQUIRE(call.bytes == 40000);  // 1000 x 10 floats
      REQUIRE(call.source == CollectiveSource::annotation);
    }
}

TEST_CASE("communication kernels are known under every name they have had",
          "[kineto]") {  // HTA issue 208: a rename made communication vanish
  for (const char* name :
       {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclSymkDevKernel_AllReduce_RSxLD_AGxST"}) {
    REQUIRE(is_communication_kernel(name));
    REQUIRE(collective_named_in(name) == Collective::all_reduce);
  }
  bool is_known = true;
  REQUIRE(is_communication_kernel("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"));
  REQUIRE_FALSE(collective_named_in("ncclDevKernel_Generic(ncclDevComm*)", &is_known));
  REQUIRE_FALSE(is_known);
  REQUIRE_FALSE(is_communication_kernel("void at::native::reduce_kernel<512, 1>()"));
}

TEST_CASE("times keep their nanoseconds and categories of 1.8 are read", "[kineto]") {
  Nanoseconds ns = 0;
  REQUIRE(chrome_json::nanoseconds_of("4458676522690.655", ns));
  REQUIRE(ns == 4458676522690655);
  REQUIRE(chrome_json::nanoseconds_of("1623212388426902", ns));
  REQUIRE(ns == 1623212388426902000);
  REQUIRE_FALSE(chrome_json::nanoseconds_of("NaN", ns));
  const test::TempPath file(
      "old.json",
      document(
          {event("Operator", "ProfilerStep#5", 1, 1, 0, 100),
           event("Runtime", "cudaLaunchKernel", 1, 1, 10, 5, "{\"correlation\": 8}"),
           R"({"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 20, "dur": 30, "args": {"correlation": 8}})"},
          ""));
  const auto accounts = accounts_of(kineto::read_trace(file.path));
  REQUIRE(accounts.size() == 1);
  REQUIRE(accounts[0].compute.value == Approx(30e-6));
}

TEST_CASE("any window size gives the same events", "[kineto]") {
  std::vector<std::string> events;
  for (int i = 0; i < 200; ++i)  // names with braces, quotes and commas; lists of objects in args:
                                 // everything a cut could trip over
    events.push_back(event("cpu_op", i % 3 == 0 ? "a},{\\\"b" : "x[{", 1, 1, i, 1,
                           i % 2 == 0 ? R"({"list": [{"ph": "X"}, {"ph": "Y"}]})" : "{}"));
  const test::TempPath file("w.json", document(events));
  for (const std::size_t window : {256, 300, 1000, 5000, 1 << 20}) {
    Anomalies anomalies;
    std::int64_t sum = 0, count = 0;
    const auto summary = chrome_json::read(
        file.path, [&](const chrome_json::RawEvent& e) { sum += e.start, ++count; }, anomalies,
        {.window = window});
    CAPTURE(window);
    REQUIRE(summary.events == 200);
    REQUIRE(count == 200);
    REQUIRE(sum == 199 * 200 / 2 * 1000);
    REQUIRE(summary.damaged == 0);
  }
}

TEST_CASE("damage costs the damaged event and nothing else",
          "[kineto]") {  // pytorch issue 130622, perfetto issue 393: unreadable JSON
  auto events = two_steps();
  events.insert(events.begin() + 3, R"({"ph": "X", "cat": "cpu_op", "name": "bad )"
                                    "\xff\x01"
                                    R"(", "pid": 1, "tid": 1, "ts": 1000070, "dur": 1})");
  events.insert(events.begin() + 5,
                R"({"ph": "X", "cat": "cpu_op", "name": "no end", "ts": 12, "dur": })");
  events.insert(
      events.begin() + 7,
      R"({"ph": "X", "cat": "cpu_op", "name": "nan", "pid": 1, "tid": 1, "ts": NaN, "dur": 1})");
  events.insert(events.begin() + 9, R"([{"ph": "]"}, [1, 2]])");  // its end is not the events' end
  const test::TempPath file("d.json", document(events));
  const RankTrace trace = kineto::read_trace(file.path);
  REQUIRE(trace.anomalies.count_of("text_repaired") >= 1);
  REQUIRE(trace.anomalies.count_of("event_without_time") == 1);
  // "no end", and of the list its two opening brackets and the numbers 1 and 2
  REQUIRE(trace.anomalies.count_of("event_damaged") == 5);
  REQUIRE(accounts_of(trace).size() == 2);
  REQUIRE(accounts_of(trace)[1].compute.value == Approx(300e-6));
}

TEST_CASE("a list among the events and a stray bracket cost themselves alone", "[kineto]") {
  const std::string event = R"({"ph": "X", "name": "e", "pid": 1, "tid": 1, "ts": 1, "dur": 1})";
  // 12 events; a list around the 3rd to 5th, or a bracket before the 3rd that nothing closes.
  for (const bool is_closed : {true, false})
    for (const bool is_bare : {true, false})
      for (const std::size_t window : {64U, 300U, 4096U}) {
        std::string text = is_bare ? "[" : R"({"traceEvents": [)";
        for (int i = 0; i < 12; ++i)
          text += (i > 0 ? ", " : "") + std::string(i == 2 ? "[" : "") + event +
                  (i == 4 && is_closed ? "]" : "");
        text += is_bare ? "]\n" : R"(], "traceName": "x"})";
        const test::TempPath file("list.json", text);
        Anomalies anomalies;
        int count = 0;
        const auto summary =
            chrome_json::read(file.path, [&](const chrome_json::RawEvent&) { ++count; }, anomalies,
                              {.window = window});
        CAPTURE(is_closed, is_bare, window);
        CHECK(count == 12);
        CHECK(summary.damaged == 1);
      }
}

TEST_CASE("files that are no whole trace are refused with one sentence", "[kineto]") {
  const std::string whole = document(two_steps());
  REQUIRE(message_of("").find("is empty") != std::string::npos);
  REQUIRE(message_of("   \n").find("only blanks") != std::string::npos);
  REQUIRE(message_of(std::string(1000, '\0')).find("no JSON document") != std::string::npos);
  REQUIRE(message_of("\x7f"
                     "ELF...")
              .find("no JSON document") != std::string::npos);
  REQUIRE(message_of("{\"a\": 1}").find("without \"traceEvents\"") != std::string::npos);
  REQUIRE(message_of(document({})).find("holds no trace event") != std::string::npos);
  REQUIRE(message_of(whole.substr(0, whole.size() / 2)).find("breaks off after") !=
          std::string::npos);
  REQUIRE(message_of(whole + whole).find("goes on behind the end") != std::string::npos);
  REQUIRE(message_of(whole, "x.gz").empty());  // the content counts, not the name
  const test::TempPath cut("cut.json", whole.substr(0, whole.size() / 2));
  REQUIRE(
      kineto::read_trace(cut.path, {.allow_partial = true}).anomalies.count_of("file_broken_off") ==
      1);
}

TEST_CASE(
    "ranks on different clocks are aligned by the ends of their collectives and waiting is split "
    "from transfer",
    "[kineto]") {
  // Rank 1 arrives 200 us late in every all-reduce and its clock is 5 ms ahead.
  const test::TempPath a("rank-0.json", document(two_steps(), "")),
      b("rank-1.json", document(two_steps(1e6 + 5000, 200), ""));
  std::vector<RankTrace> traces;
  traces.push_back(kineto::read_trace(a.path));
  traces.push_back(kineto::read_trace(b.path));
  REQUIRE(traces[1].rank == 1);
  Anomalies anomalies;
  const auto offsets = align_clocks(traces, anomalies);
  REQUIRE(offsets[1].is_applied);
  REQUIRE(offsets[1].offset == 5'000'000);
  const auto matches = match_collectives(traces, anomalies);
  REQUIRE(matches.size() == 2);
  for (const auto& m : matches) {
    REQUIRE(m.last_trace == 1);
    REQUIRE(m.transfer.value == Approx(200e-6));  // 400 - 200
    REQUIRE(m.spread.value == Approx(200e-6));
  }
  const Timeline timeline = timeline_of(traces);
  REQUIRE(timeline.spans.size() == traces[0].events.size() + traces[1].events.size());
  REQUIRE(timeline.origin == "measured");
}

TEST_CASE("begins and ends of a thread are joined and what is open or nameless is lost with a word",
          "[kineto]") {
  const auto half = [](const char* phase, const char* name, double ts) {
    return std::string(R"({"cat": "kernel", "name": ")") + name + R"(", "ph": ")" + phase +
           R"(", "pid": 0, "tid": 7, "ts": )" + std::to_string(ts) + "}";
  };
  auto events = two_steps();
  // Outer 100..180 around inner 110..150, all us after the second step; one end and one begin
  // alone.
  for (const auto& [phase, name, ts] : {std::tuple{"B", "outer", 100.0},
                                        {"B", "inner", 110.0},
                                        {"E", "", 150.0},
                                        {"E", "", 180.0},
                                        {"E", "", 190.0},
                                        {"B", "open", 195.0}})
    events.push_back(half(phase, name, 1e6 + 2000 + ts));
  events.push_back(
      R"({"ph": "X", "cat": "kernel", "name": "timeless", "pid": 0, "tid": 7, "ts": 1002300})");
  const test::TempPath file("begin.json", document(events));
  const RankTrace trace = kineto::read_trace(file.path);
  std::map<std::string, Nanoseconds> durations;
  for (const TraceEvent& e : trace.events)
    durations[std::string(trace.names.text_of(e.name))] = e.duration;
  CHECK(durations.at("outer") == 80'000);
  CHECK(durations.at("inner") == 40'000);
  CHECK(durations.at("timeless") == 0);
  CHECK(durations.count("open") == 0);
  CHECK(trace.entries_lost == 2);
  for (const char* name : {"end_without_begin", "begin_without_end", "event_without_duration"}) {
    INFO(name);
    CHECK(trace.anomalies.count_of(name) == 1);
  }
}

TEST_CASE("a workload of ranks that recorded different steps has those that all recorded",
          "[kineto]") {
  auto three = two_steps();
  for (auto& e : one_step(3, 1e6 + 2000)) three.push_back(e);
  const auto rest = [](int rank) {
    return R"("distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": 2},)";
  };
  const test::TempPath all("all.json", document(three, rest(0))),
      late("late.json", document(one_step(2, 1e6 + 1000), rest(1))),
      other("other.json", document(one_step(9, 1e6 + 1000), rest(1)));
  for (const bool meets : {true, false}) {
    CAPTURE(meets);
    std::vector<RankTrace> traces;
    traces.push_back(kineto::read_trace(all.path));
    traces.push_back(kineto::read_trace(meets ? late.path : other.path));
    Anomalies anomalies;
    const Workload w = workload_of(traces, anomalies);
    REQUIRE(w.steps.size() == 1);
    CHECK(w.steps[0].number == (meets ? 2 : 1));  // no number in common: the first of each
    CHECK(w.steps[0].measured_s == Approx(1e-3));
    CHECK(workload_fault(w) == "");
    CHECK(anomalies.count_of("steps_of_some_ranks") == 2);
    CHECK(replay(w).total_s > 0);
  }
}

TEST_CASE("steps without marks are cut at the optimizer",
          "[kineto]") {  // chakra issue 162: no ProfilerStep mark
  std::vector<std::string> events;
  for (int i = 0; i < 5; ++i)
    events.push_back(event("user_annotation", "Optimizer.step#SGD.step", 1, 1, i * 1000 + 900, 50));
  const test::TempPath file("s.json", document(events));
  const RankTrace trace = kineto::read_trace(file.path);
  REQUIRE(trace.steps.size() == 4);
  REQUIRE(trace.steps[0].end - trace.steps[0].start == 1'000'000);
  REQUIRE(trace.anomalies.count_of("steps_inferred") == 1);
}

TEST_CASE("a kernel that starts before its launch is counted", "[kineto]") {  // kineto issue 1380
  const test::TempPath file(
      "k.json",
      document({event("cuda_runtime", "cudaLaunchKernel", 1, 1, 100, 5, "{\"correlation\": 1}"),
                event("kernel", "k", 0, 7, 95, 5, "{\"correlation\": 1}")}));
  REQUIRE(kineto::read_trace(file.path).anomalies.count_of("kernel_before_launch") == 1);
}
