#include <filesystem>
#include <thread>

#include "sim/core/result.hpp"
#include "sim/io/files.hpp"
#include "sim/timeline/chrome_trace.hpp"
#include "sim/timeline/read/slice_args.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::opened;
using test::TempPath;

TEST_CASE("nanoseconds of a trace survive as integers", "[read]") {
  // 1682725898236567.123 us: a double of microseconds holds only quarters there
  const auto r =
      opened(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1682725898236567.123,"dur":0.001})");
  REQUIRE(r.trace->slices() == 1);
  CHECK(r.trace->start(0) == 1682725898236567123);
  CHECK(r.trace->duration(0) == 1);
}

TEST_CASE("every event of a trace is shown or counted as lost with its place", "[read]") {
  const auto r = opened(
      R"({"ph":"X","name":"no dur","pid":1,"tid":1,"ts":1},{"ph":"X","name":"back","pid":1,"tid":1,"ts":5,"dur":-2},)"
      R"({"ph":"X","name":"no ts","pid":1,"tid":1,"dur":2},{"ph":"i","name":"mark","pid":1,"tid":1,"ts":3},)"
      R"({"ph":"C","name":"mem","pid":1,"ts":1,"args":{"used":5,"free":7.5}},{"ph":"C","name":"bad","pid":1,"ts":1,"args":{"x":"y"}},)"
      R"({"ph":"Q","name":"odd","pid":1,"tid":1,"ts":9},{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},)"
      R"({"ph":"s","id":1,"name":"f","pid":1,"tid":1,"ts":1},{"ph":"f","id":1,"name":"f","pid":1,"tid":2,"ts":2},)"
      R"({"ph":"f","id":2,"name":"f","pid":1,"tid":2,"ts":2})");
  CHECK(r.report.events == 11);
  CHECK(r.report.slices == 2);
  CHECK(r.report.instants == 2);        // mark and the unknown phase
  CHECK(r.report.counter_values == 2);  // used and free
  CHECK(r.report.flow_arrows == 1);
  CHECK(r.report.metadata == 1);
  CHECK(r.report.lost == 3);  // no ts, a counter without number, half an arrow
  for (const char* name : {"duration_missing", "duration_negative", "event_without_time",
                           "counter_without_number", "phase_unknown", "arrow_incomplete"}) {
    INFO(name);
    CHECK(r.report.anomalies.count_of(name) == 1);
  }
  for (const Anomaly& anomaly : r.report.anomalies.list())
    CHECK(anomaly.places.front().find("@ byte") != std::string::npos);
}

TEST_CASE("begin and end events pair up by thread whatever their order in the file", "[read]") {
  // B 10, B 20, E 30, E 40: outer 10..40, inner 20..30; one E without B, one B without E to the end
  // of the trace (50)
  const auto r = opened(
      R"({"ph":"E","name":"","pid":1,"tid":1,"ts":40},{"ph":"B","name":"outer","pid":1,"tid":1,"ts":10},{"ph":"E","pid":1,"tid":1,"ts":30},)"
      R"({"ph":"B","name":"inner","pid":1,"tid":1,"ts":20},{"ph":"E","name":"stray","pid":1,"tid":2,"ts":5},{"ph":"B","name":"open","pid":1,"tid":2,"ts":45},)"
      R"({"ph":"X","name":"last","pid":1,"tid":3,"ts":49,"dur":1})");
  REQUIRE(r.trace->slices() == 4);
  CHECK(r.trace->duration(test::slice_named(*r.trace, "outer", 10'000)) == 30'000);
  CHECK(r.trace->duration(test::slice_named(*r.trace, "inner", 20'000)) == 10'000);
  CHECK(r.trace->duration(test::slice_named(*r.trace, "open", 45'000)) == 5'000);
  CHECK(r.trace->instants().size() == 1);
  CHECK(r.report.anomalies.count_of("pair_incomplete") == 2);
}

TEST_CASE("async operations with one id pair up on a row of their own", "[read]") {
  const auto r = opened(
      R"({"ph":"b","cat":"net","id":"0x1","name":"req","pid":1,"tid":1,"ts":10},{"ph":"b","cat":"net","id":"0x2","name":"req","pid":1,"tid":1,"ts":12},)"
      R"({"ph":"n","cat":"net","id":"0x1","name":"hop","pid":1,"tid":1,"ts":15},)"
      R"({"ph":"e","cat":"net","id":"0x1","name":"req","pid":1,"tid":1,"ts":20},{"ph":"e","cat":"net","id":"0x2","name":"req","pid":1,"tid":1,"ts":30})");
  REQUIRE(r.trace->slices() == 2);
  CHECK(r.trace->duration(test::slice_named(*r.trace, "req", 10'000)) == 10'000);
  CHECK(r.trace->duration(test::slice_named(*r.trace, "req", 12'000)) == 18'000);
  CHECK(r.trace->tracks().front().kind == TrackKind::async);
  CHECK(r.trace->instants().size() == 1);
}

TEST_CASE("a file that breaks off shows what it holds and says where it ends", "[read]") {
  std::string text = "{\"traceEvents\":[";
  for (int i = 0; i < 1000; ++i)
    text +=
        R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":)" + std::to_string(i * 10) + R"(,"dur":5},)";
  const std::size_t whole = text.size();
  text += R"({"ph":"X","name":"cut","pid":1,)";
  for (const bool is_packed : {false, true}) {
    TempPath file(is_packed ? "cut.json.gz" : "cut.json", text);
    if (is_packed) {  // also cut the compressed stream
      std::string bytes = test::gzipped(text);
      std::filesystem::remove(file.path);
      bytes.resize(bytes.size() - 12);
      std::FILE* out = std::fopen(file.path.c_str(), "wb");
      std::fwrite(bytes.data(), 1, bytes.size(), out);
      std::fclose(out);
    }
    const OpenResult r = open_trace({file.path});
    if (!is_packed) CHECK(r.trace->slices() == 1000);
    CHECK(r.trace->slices() >= 990);
    CHECK(!r.report.files.front().is_complete);
    CHECK(r.report.anomalies.count_of("file_broken_off") == 1);
    if (is_packed) CHECK(r.report.anomalies.count_of("compression_damaged") == 1);
    if (!is_packed)
      CHECK(r.report.anomalies.list().front().places.front().find(
                "@ byte " + std::to_string(whole)) != std::string::npos);
  }
}

TEST_CASE("a damaged event costs itself alone and its byte offset is told", "[read]") {
  const std::string before = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},)";
  const auto r = opened(before + R"({"ph":"X","name":,"ts":2},)" +
                        R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":3,"dur":1})");
  CHECK(r.trace->slices() == 2);
  CHECK(r.report.lost == 1);
  REQUIRE(r.report.anomalies.count_of("event_damaged") == 1);
  const std::string place =
      "@ byte " + std::to_string(std::string("{\"traceEvents\":[").size() + before.size());
  CHECK(r.report.anomalies.text().find(place) != std::string::npos);
}

TEST_CASE("several documents in one file are shown with their own processes", "[read]") {
  const std::string one =
      R"({"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"NAME"}},{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]})";
  std::string first = one, second = one;
  first.replace(first.find("NAME"), 4, "left"), second.replace(second.find("NAME"), 4, "right");
  const TempPath file("joined.json", first + "\n" + second);
  const OpenResult r = open_trace({file.path});
  CHECK(r.trace->slices() == 2);
  REQUIRE(r.trace->ranks().size() == 2);
  CHECK(r.trace->ranks()[0].label == "left");
  CHECK(r.trace->ranks()[1].label == "right #2");
  CHECK(r.report.anomalies.count_of("documents_joined") == 1);
}

TEST_CASE("a second list of events in one object is told with its place", "[read]") {
  const TempPath file("twice.json");
  write_file(file.path, R"({"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}],)"
                        R"("traceEvents":[{"ph":"X","name":"b","pid":1,"tid":1,"ts":3,"dur":1}]})");
  const OpenResult r = open_trace({file.path});
  CHECK(r.trace->slices() == 1);
  REQUIRE(r.report.anomalies.count_of("events_repeated") == 1);
  // 84 characters stand before the second list's bracket.
  CHECK(r.report.anomalies.list().front().places.front().ends_with("@ byte 84"));
}

TEST_CASE("a pid with two names is reported because merged traces share its rows", "[read]") {
  const auto r = opened(
      R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"rank 0"}},{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},)"
      R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"other"}})");
  CHECK(r.report.anomalies.count_of("process_renamed") == 1);
}

TEST_CASE("our own traces open with node and rank and stream and category", "[read]") {
  Timeline t;
  t.origin = "simulated";
  t.tracks = {{.node = 1, .rank = 8, .stream = "recv"},
              {.node = 0, .rank = 0, .stream = "compute"},
              {.node = 0, .rank = 0, .stream = "send"}};
  const NameId forward = t.names.id_of("forward"), recv = t.names.id_of("recv");
  t.spans.push_back({.track = 1,
                     .name = forward,
                     .category = Category::compute,
                     .start = 0,
                     .end = 1'234'567,
                     .micro_batch = 3});
  t.spans.push_back({.track = 0,
                     .name = recv,
                     .category = Category::exposed_pp,
                     .start = 1'234'567,
                     .end = 1'234'570});
  t.spans.push_back({.track = 2,
                     .name = recv,
                     .category = Category::exposed_pp,
                     .start = 1'234'567,
                     .end = 1'234'570});
  t.flows.push_back(
      {.from_track = 2, .to_track = 0, .from = 1'234'567, .to = 1'234'570, .name = recv});
  const TempPath file("own.json.gz");
  write_chrome_trace(t, file.path);
  const OpenResult r = open_trace({file.path});
  CHECK(r.trace->origin() == "simulated");
  CHECK(r.report.lost == 0);
  REQUIRE(r.trace->ranks().size() == 2);
  CHECK(r.trace->nodes()[r.trace->ranks()[1].node].label == "node 1");
  CHECK(r.trace->ranks()[1].rank == 8);
  CHECK(r.trace->tracks()[0].label == "compute");
  const SliceId s = test::slice_named(*r.trace, "forward", 0);
  CHECK(r.trace->category(s) == SliceCategory::compute);
  const auto args = read_slice_args(*r.trace, s);
  REQUIRE(args);
  CHECK(args->args ==
        std::vector<std::pair<std::string, std::string>>{{"rank", "0"}, {"micro_batch", "3"}});
  REQUIRE(r.trace->flows().size() == 1);
  CHECK(r.trace->ranks()[r.trace->rank_of(r.trace->flows()[0].from)].rank == 0);
  CHECK(r.trace->ranks()[r.trace->rank_of(r.trace->flows()[0].to)].rank == 8);
  // The same timeline without a file is the same store.
  const TracePtr direct = store_of(t);
  CHECK(direct->slices() == r.trace->slices());
  CHECK(direct->tracks()[0].label == "compute");
}

TEST_CASE("our own memory counters belong to the rank that they name", "[read]") {
  Timeline timeline;
  timeline.tracks = {{.node = 0, .rank = 0, .stream = "compute"},
                     {.node = 0, .rank = 1, .stream = "compute"}};
  for (std::uint32_t track : {0u, 1u})
    timeline.spans.push_back(
        {.track = track, .name = timeline.names.id_of("forward"), .start = 0, .end = 1'000});
  timeline.memory = {{.node = 0, .rank = 0, .at = 0, .bytes = 10},
                     {.node = 0, .rank = 1, .at = 500, .bytes = 20}};
  const TempPath file("memory.json");
  write_chrome_trace(timeline, file.path);
  const OpenResult r = open_trace({file.path});
  const auto& counters = r.trace->counters();
  REQUIRE(counters.size() == 2);
  for (const CounterSeries& series : counters) {
    const std::uint32_t rank = r.trace->tracks()[series.track].rank;
    CHECK(series.most == (r.trace->ranks()[rank].rank == 0 ? 10 : 20));
  }
  CHECK(r.trace->ranks().size() == 2);
}

TEST_CASE("arguments are refused when the file has changed since", "[read]") {
  const std::string text =
      R"({"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"k":[1,{"x":"}"}]}}]})";
  const TempPath file("args.json", text);
  const OpenResult r = open_trace({file.path});
  const auto args = read_slice_args(*r.trace, 0);
  REQUIRE(args);
  CHECK(args->args.front().second == R"([1,{"x":"}"}])");
  write_file(file.path, " " + text);
  const auto later = read_slice_args(*r.trace, 0);
  if (later) CHECK(later->args == args->args);  // found one byte on: the same event
  write_file(file.path,
             R"({"traceEvents":[{"ph":"X","name":"b","pid":1,"tid":1,"ts":1,"dur":1}]})");
  CHECK(!read_slice_args(*r.trace, 0));
  std::filesystem::remove(file.path);
  CHECK(!read_slice_args(*r.trace, 0));
}

TEST_CASE("files of one rank each are merged and their clocks aligned by collectives", "[read]") {
  // Rank 1's clock runs 5 ms ahead; its all-reduces end at the same true moments. Residual 0.
  const TempPath folder("ranks");
  for (int rank = 0; rank < 2; ++rank) {
    std::string text =
        R"({"distributedInfo":{"rank":)" + std::to_string(rank) + R"(},"traceEvents":[)";
    for (int i = 0; i < 6; ++i) {
      const int end = 1000 * (i + 1), start = end - (rank == 0 ? 300 : 100);
      text +=
          (i > 0 ? "," : "") +
          (R"--({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)","pid":0,"tid":20,"ts":)--" +
           std::to_string(start + rank * 5000) + R"(,"dur":)" + std::to_string(end - start) + "}");
    }
    write_file(folder.path + "/rank" + std::to_string(rank) + ".json", text + "]}");
  }
  write_file(folder.path + "/notes.txt", "no trace");
  const OpenResult r = open_trace({folder.path});
  REQUIRE(r.trace->ranks().size() == 2);
  CHECK(r.report.files.size() == 2);
  CHECK(r.report.anomalies.count_of("file_skipped") == 1);
  CHECK(r.report.anomalies.count_of("clock_shifted") == 1);
  CHECK(r.trace->sources()[0].clock_offset == 0);
  bool is_shifted = false;
  for (const SourceFile& source : r.trace->sources())
    is_shifted |= source.clock_offset == -5'000'000 && source.clock_matches == 6 &&
                  source.clock_residual == 0;
  CHECK(is_shifted);
  for (SliceId s = 0; s < r.trace->slices(); ++s) CHECK(r.trace->end(s) % 1'000'000 == 0);
}

TEST_CASE("what is no trace is refused with one sentence", "[read]") {
  CHECK_THROWS_AS(open_trace({"/nowhere/at/all.json"}), InputError);
  const TempPath text("text.json", "hello");
  CHECK_THROWS_WITH(open_trace({text.path}), Catch::Contains("is no JSON document"));
  const TempPath folder("empty_folder");
  std::filesystem::create_directories(folder.path);
  CHECK_THROWS_WITH(open_trace({folder.path}), Catch::Contains("is a folder without traces"));
  CHECK(!is_openable(text.path));
  CHECK(!is_openable(folder.path));
}

TEST_CASE("an import is stopped within a tenth of a second and keeps what it had", "[read]") {
  std::string text = "{\"traceEvents\":[";
  for (int i = 0; i < 400'000; ++i)
    text +=
        R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":)" + std::to_string(i * 10) + R"(,"dur":5},)";
  text += R"({"ph":"X","name":"z","pid":1,"tid":1,"ts":9,"dur":0}]})";
  const TempPath file("long.json", text);
  std::stop_source stop;
  OpenOptions options;
  options.stop = stop.get_token();
  std::int64_t events_at_stop = 0;
  std::chrono::steady_clock::time_point stopped_at{};
  options.on_progress = [&](const OpenProgress& progress) {
    CHECK(progress.total_bytes == text.size());
    events_at_stop = progress.events;
    stopped_at = std::chrono::steady_clock::now();
    stop.request_stop();
  };
  const OpenResult r = open_trace({file.path}, options);
  CHECK(r.report.is_cancelled);
  CHECK(!r.report.files.front().is_complete);
  CHECK(static_cast<std::int64_t>(r.trace->slices()) >= events_at_stop);
  CHECK(r.trace->slices() < 400'001);
  // The bar is 0.1 s of work; machines that run tests are shared, so the clock gets slack and the
  // count above is the tight gate.
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - stopped_at).count() < 2);
}

TEST_CASE("partial results are whole stores of what was read so far", "[read]") {
  std::string text = "{\"traceEvents\":[";
  for (int i = 0; i < 300'000; ++i)
    text += R"({"ph":"X","name":"a","pid":1,"tid":)" + std::to_string(i % 7) + R"(,"ts":)" +
            std::to_string(i * 10) + R"(,"dur":5},)";
  text += R"({"ph":"X","name":"z","pid":1,"tid":1,"ts":9,"dur":0}]})";
  const TempPath file("partial.json", text);
  OpenOptions options;
  std::size_t last = 0, seen = 0;
  options.on_progress = [](const OpenProgress&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
  };
  options.on_partial = [&](TracePtr trace) {
    ++seen;
    CHECK(trace->slices() >= last);
    last = trace->slices();
  };
  const OpenResult r = open_trace({file.path}, options);
  CHECK(seen >= 1);
  CHECK(r.trace->slices() == 300'001);
}

TEST_CASE("steps in the arguments of a plotted operation table are kept per rank", "[read]") {
  const auto r = opened(
      R"({"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"PP rank 0, TP rank 0, compute"}},)"
      R"({"ph":"X","name":"forward-compute","cat":"forward-compute","pid":0,"tid":0,"ts":10,"dur":5,"args":{"step":23}},)"
      R"({"ph":"X","name":"backward-compute","cat":"backward-compute","pid":0,"tid":0,"ts":15,"dur":5,"args":{"step":23}})");
  REQUIRE(r.trace->stated_steps().size() == 1);
  CHECK(r.trace->stated_steps()[0].number == 23);
  CHECK(r.trace->stated_steps()[0].begin == 10'000);
  CHECK(r.trace->stated_steps()[0].end == 20'000);
  CHECK(r.trace->ranks()[0].label == "PP rank 0, TP rank 0");
  CHECK(r.trace->category(0) == SliceCategory::compute);
}
