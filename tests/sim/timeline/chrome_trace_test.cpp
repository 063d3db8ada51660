#include "sim/timeline/chrome_trace.hpp"

#include <unistd.h>

#include <filesystem>
#include <map>

#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
/// Two nodes, a compute and a recv track; one span each and an arrow between them.
Timeline small_timeline() {
  Timeline t;
  t.origin = "simulated";
  t.tracks = {{.node = 1, .rank = 8, .stream = "recv"},
              {.node = 0, .rank = 0, .stream = "compute"},
              {.node = 0, .rank = 0, .stream = "send"}};
  const NameId forward = t.names.id_of("forward"), recv = t.names.id_of("recv \"act\"");
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
                     .end = 1'234'570,
                     .payload = 0});
  t.payloads.push_back({"send_recv", "pp: rank 0 to 8", 2, 5'000'000'000});
  t.flows.push_back(
      {.from_track = 2, .to_track = 0, .from = 1'234'567, .to = 1'234'570, .name = recv});
  return t;
}
Json written_and_read(const std::string& suffix) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("stepcast_trace_" + std::to_string(getpid()) + suffix))
                               .string();
  write_chrome_trace(small_timeline(), path);
  Json document = read_json_file(path).value_or_throw();
  std::filesystem::remove(path);
  return document;
}
}  // namespace

TEST_CASE("a trace keeps nanoseconds as decimals of microseconds", "[timeline]") {
  // 1 234 567 ns = 1234.567 us
  const Json trace = written_and_read(".json");
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["name"] == "forward") {
      CHECK(event["ts"].get<double>() == 0);
      CHECK(event["dur"].get<double>() == 1234.567);
      CHECK(event["cat"] == "compute");
      CHECK(event["args"]["micro_batch"] == 3);
    }
}

TEST_CASE("a span that moves data says how much among which ranks", "[timeline]") {
  const Json trace = written_and_read(".json");
  int with_payload = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    if (event["name"] == "forward") CHECK(!event["args"].contains("bytes"));
    if (!event["args"].contains("bytes")) continue;
    ++with_payload;
    CHECK(event["args"]["collective"] == "send_recv");
    CHECK(event["args"]["group"] == "pp: rank 0 to 8");
    CHECK(event["args"]["group_size"] == 2);
    CHECK(event["args"]["bytes"] == 5'000'000'000);
  }
  CHECK(with_payload == 1);
}

TEST_CASE("every span and arrow of a trace lies on a named thread of a named process",
          "[timeline]") {
  const Json trace = written_and_read(".json.gz");
  std::map<std::pair<int, int>, std::string> threads;
  std::map<int, std::string> processes;
  int spans = 0;
  std::map<int, int> arrow_ends;
  for (const Json& event : trace["traceEvents"]) {
    const int pid = event["pid"], tid = event["tid"];
    if (event["name"] == "thread_name") threads[{pid, tid}] = event["args"]["name"];
    if (event["name"] == "process_name") processes[pid] = event["args"]["name"];
    if (event["ph"] == "X" || event["ph"] == "s" || event["ph"] == "f") {
      CHECK(threads.contains({pid, tid}));
      CHECK(processes.contains(pid));
    }
    if (event["ph"] == "X") ++spans;
    if (event["ph"] == "s" || event["ph"] == "f") ++arrow_ends[event["id"].get<int>()];
  }
  CHECK(spans == 2);
  CHECK(arrow_ends == std::map<int, int>{{1, 2}});
  CHECK(processes == std::map<int, std::string>{{0, "node 0"}, {1, "node 1"}});
  CHECK(threads == std::map<std::pair<int, int>, std::string>{{{0, 1}, "rank 0 compute"},
                                                              {{0, 2}, "rank 0 send"},
                                                              {{1, 1}, "rank 8 recv"}});
}

TEST_CASE("a gzip trace holds the same bytes as the plain one", "[timeline]") {
  CHECK(written_and_read(".json").dump() == written_and_read(".json.gz").dump());
}

TEST_CASE("a trace into a folder that cannot be made is an environment error", "[timeline]") {
  CHECK_THROWS_AS(write_chrome_trace(small_timeline(), "/proc/nowhere/trace.json"),
                  EnvironmentError);
}

TEST_CASE("equal texts of a name table share one id", "[timeline]") {
  NameTable names;
  CHECK(names.id_of("a") == 0);
  CHECK(names.id_of("b") == 1);
  CHECK(names.id_of("a") == 0);
  CHECK(names.text_of(1) == "b");
  CHECK(names.size() == 2);
}

TEST_CASE("what a rank holds is a counter that says whose it is", "[timeline]") {
  Timeline timeline = small_timeline();
  timeline.memory.push_back({.node = 1, .rank = 8, .at = 1'500, .bytes = 5e9});
  const std::string path =
      (std::filesystem::temp_directory_path() / ("stepcast_memory_" + std::to_string(getpid())))
          .string();
  write_chrome_trace(timeline, path);
  const Json last = read_json_file(path).value_or_throw()["traceEvents"].back();
  std::filesystem::remove(path);
  CHECK(last == Json{{"ph", "C"},
                     {"name", "rank 8 memory"},
                     {"pid", 1},
                     {"ts", 1.5},
                     {"args", {{"memory bytes", 5'000'000'000}}}});
}
