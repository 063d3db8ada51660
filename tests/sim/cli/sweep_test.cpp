#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "sim/io/csv.hpp"
#include "sim/io/json.hpp"
#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;
using stepcast::CsvTable;
using stepcast::Json;
namespace {
CsvTable table_at(const std::string& path) { return CsvTable::read(path).value_or_throw(); }
}  // namespace

TEST_CASE("a sweep tabulates its grid in order and records refused points", "[cli]") {
  const Folder folder;
  const std::string small = folder.write("small.json", kSmallScenario);
  // tp 5 does not divide 12 heads
  const Finished run =
      run_stepcast({"sweep", small, "--vary", "/parallel/tp=1,5,2", "--vary", "/cluster/nodes=1..2",
                    "-j", "2", "--json", "--engine", "native"},
                   folder.path());
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json summary = Json::parse(run.out);
  CHECK(summary["points"] == 6);
  CHECK(summary["good"] == 4);
  CHECK(summary["refused"].size() == 2);
  const CsvTable table = table_at(folder.path("sweep.csv"));
  REQUIRE(table.rows() == 6);
  const std::vector<std::pair<std::string, std::string>> order{{"1", "1"}, {"1", "2"}, {"5", "1"},
                                                               {"5", "2"}, {"2", "1"}, {"2", "2"}};
  for (std::size_t row = 0; row < 6; ++row) {
    CHECK(table.text(row, "/parallel/tp") == order[row].first);
    CHECK(table.text(row, "/cluster/nodes") == order[row].second);
    CHECK((table.text(row, "status") == "ok") == (order[row].first != "5"));
    CHECK(table.number(row, "step_time_s").has_value() == (order[row].first != "5"));
  }
}

TEST_CASE("a sweep's point equals the simulation of that point", "[cli]") {
  const Folder folder;
  const std::string small = folder.write("small.json", kSmallScenario);
  REQUIRE(run_stepcast({"sweep", small, "--vary", "/training/micro_batch=2", "--engine", "native"},
                       folder.path())
              .exit_code == 0);
  const Json r = Json::parse(run_stepcast({"simulate", small, "--set", "/training/micro_batch=2",
                                           "--engine", "native", "--json"})
                                 .out);
  CHECK(*table_at(folder.path("sweep.csv")).number(0, "step_time_s") ==
        Approx(r["step_time_s"]["p50"].get<double>()));
}

TEST_CASE("a sweep killed on its way goes on where it stopped", "[cli]") {
  const Folder folder;
  const std::string small = folder.write("small.json", kSmallScenario);
  const std::vector<std::string> sweep{"sweep", small, "--vary",   "/run/seed=1..40",
                                       "-j",    "1",   "--engine", "simgrid"};
  const int pid = start_stepcast(sweep, folder.path());
  for (int i = 0; i < 2000 && lines_of(content_of(folder.path("sweep.csv"))).size() < 4; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  const std::size_t done = lines_of(content_of(folder.path("sweep.csv"))).size() - 1;
  REQUIRE(done >= 1);
  REQUIRE(done < 40);
  // A kill may also tear the last line: half a line must cost that point and nothing else.
  std::string text = content_of(folder.path("sweep.csv"));
  folder.write("sweep.csv", text.substr(0, text.size() - 5));
  std::vector<std::string> again = sweep;
  again.push_back("--json");
  const Finished run = run_stepcast(again, folder.path());
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(Json::parse(run.out)["simulated_now"] == 40 - (done - 1));
  const CsvTable table = table_at(folder.path("sweep.csv"));
  REQUIRE(table.rows() == 40);
  for (std::size_t row = 0; row < 40; ++row)
    CHECK(table.text(row, "/run/seed") == std::to_string(row + 1));
  CHECK(Json::parse(run_stepcast(again, folder.path()).out)["simulated_now"] == 0);
}

TEST_CASE("an interrupted sweep says so and leaves no children", "[cli]") {
  const Folder folder;
  const std::string small = folder.write("small.json", kSmallScenario);
  const int pid = start_stepcast(
      {"sweep", small, "--vary", "/run/seed=1..100000", "-j", "2", "--engine", "native"},
      folder.path());
  for (int i = 0; i < 1000 && lines_of(content_of(folder.path("sweep.csv"))).size() < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(pid, SIGINT);
  int status = 0;
  waitpid(pid, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  const std::string text = content_of(folder.path("sweep.csv"));
  CHECK(text.back() == '\n');
}

TEST_CASE("a table of another sweep is not touched", "[cli]") {
  const Folder folder;
  const std::string small = folder.write("small.json", kSmallScenario);
  REQUIRE(
      run_stepcast({"sweep", small, "--vary", "/run/seed=1", "--engine", "native"}, folder.path())
          .exit_code == 0);
  const std::string before = content_of(folder.path("sweep.csv"));
  CHECK(run_stepcast({"sweep", small, "--vary", "/cluster/nodes=1", "--engine", "native"},
                     folder.path())
            .exit_code == 2);
  CHECK(
      run_stepcast({"sweep", small, "--vary", "/run/seed=1", "--engine", "analytic"}, folder.path())
          .exit_code == 2);
  CHECK(content_of(folder.path("sweep.csv")) == before);
}

TEST_CASE("a sweep draws its chart as PNG and SVG", "[cli]") {
  const Folder folder;
  const std::string small = folder.write("small.json", kSmallScenario);
  for (const char* name : {"c.png", "c.svg"})
    REQUIRE(run_stepcast({"sweep", small, "--vary", "/cluster/nodes=1,2,4", "--engine", "native",
                          "--set", "/training/global_batch=64", "--chart", name},
                         folder.path())
                .exit_code == 0);
  CHECK(content_of(folder.path("c.png")).substr(0, 8) == "\x89PNG\r\n\x1a\n");
  const std::string svg = content_of(folder.path("c.svg"));
  for (const char* part : {"throughput (tokens/s)", "nodes", "linear from 1 node", "</svg>"})
    CHECK(svg.find(part) != std::string::npos);
  CHECK(run_stepcast({"sweep", small, "--vary", "/cluster/nodes=1", "--chart", "c.jpg"},
                     folder.path())
            .exit_code == 2);
}
