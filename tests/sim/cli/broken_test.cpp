// broken/NAME.json beside broken/NAME.expected: each line of the latter is part of one line of
// standard error, and there are no other lines.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;
namespace fs = std::filesystem;
namespace {
const std::string kFolder = STEPCAST_BROKEN_FOLDER;

std::vector<std::string> problem_lines(const std::string& err) {
  auto lines = lines_of(err);
  // "stepcast: 3 problems" closes a list of several.
  if (!lines.empty() && lines.back().starts_with("stepcast: ") &&
      lines.back().ends_with(" problems"))
    lines.pop_back();
  return lines;
}

void check_refused(const Finished& run, const std::vector<std::string>& expected) {
  CHECK_FALSE(run.timed_out);
  CHECK(run.exit_code == 2);
  CHECK(run.out == "");
  auto lines = problem_lines(run.err);
  INFO(run.err);
  CHECK(lines.size() == expected.size());
  for (const std::string& part : expected) {
    INFO("expected: " << part);
    const auto at = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
    CHECK(at != lines.end());
    if (at != lines.end()) lines.erase(at);
  }
}
}  // namespace

TEST_CASE("each broken scenario ends in exit code 2 and names every problem", "[cli]") {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() >= 60);
  for (const std::string& name : names) {
    INFO("broken/" << name << ".json");
    const auto expected = lines_of(content_of(kFolder + "/" + name + ".expected"));
    REQUIRE_FALSE(expected.empty());
    check_refused(run_stepcast({"simulate", name + ".json", "--engine", "native"}, kFolder, 20),
                  expected);
  }
}

TEST_CASE("a scenario file that is missing names the nearest file", "[cli]") {
  const Folder folder;
  folder.write("mine.scenario.json", kSmallScenario);
  check_refused(run_stepcast({"simulate", "./mine.scenari.json"}, folder.path()),
                {"no such file; did you mean ./mine.scenario.json"});
}

TEST_CASE("a folder in place of a scenario is refused", "[cli]") {
  const Folder folder;
  check_refused(run_stepcast({"simulate", folder.path()}), {"is a folder; a file is expected"});
}

TEST_CASE("a scenario of 100 MB is refused within seconds", "[cli]") {
  const Folder folder;
  {
    std::ofstream out(folder.path("large.json"));
    out << "{ \"model\": [";
    const std::string piece = "{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]},\n";
    for (std::size_t written = 0; written < 100'000'000; written += piece.size()) out << piece;
    out << "0] }";
  }
  check_refused(run_stepcast({"check", folder.path("large.json")}, "", 20),
                {"is larger than 32 MiB, the limit for this kind of file"});
}

TEST_CASE("a corrupt gzip scenario is refused", "[cli]") {
  const Folder folder;
  folder.write("bad.json.gz", std::string("\x1f\x8b\x08\x00garbage", 11));
  const Finished run = run_stepcast({"check", folder.path("bad.json.gz")});
  CHECK(run.exit_code == 2);
  CHECK(lines_of(run.err).size() == 1);
}

TEST_CASE("a setting that goes nowhere is refused with its own text", "[cli]") {
  const Folder folder;
  const std::string small = folder.write("small.json", kSmallScenario);
  check_refused(run_stepcast({"check", small, "--set", "cluster/nodes=2"}),
                {"--set cluster/nodes=2: is not of the form /json/pointer=value"});
  check_refused(run_stepcast({"check", small, "--set", "/cluster/nodes"}),
                {"--set /cluster/nodes: is not of the form"});
  check_refused(run_stepcast({"check", small, "--set", "/stragglers/4/ranks=1"}),
                {"--set /stragglers: found {\"4\""});
  check_refused(run_stepcast({"check", small, "--set", "/parallel/tpp=1"}),
                {"--set /parallel/tpp: is not a known key"});
}
