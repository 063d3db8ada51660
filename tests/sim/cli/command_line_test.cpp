#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;
using stepcast::Json;

TEST_CASE("a mistyped command or flag ends in one sentence with the nearest name", "[cli]") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& sentence) {
    const Finished run = run_stepcast(arguments);
    CHECK(run.exit_code == 2);
    CHECK(run.out == "");
    CHECK(lines_of(run.err).size() == 1);
    INFO(run.err);
    CHECK(run.err.find(sentence) != std::string::npos);
  };
  refused({"simulat", "x.json"}, "\"simulat\" is not a command; did you mean simulate?");
  refused({"simulate", "x.json", "--jsn"}, "simulate: --jsn is not a flag; did you mean --json?");
  refused({"simulate"}, "simulate: scenario is required");
  refused({"simulate", "gpt3-175b-1024n", "--engine", "simgird"},
          "\"simgird\" is not one of simgrid, native, analytic; did you mean simgrid?");
  refused({"simulate", "x.json", "--seed", "many"}, "--seed");
  refused({"sweep", "x.json"}, "--vary is required");
  refused({"list", "model"}, "\"model\" is not one of models");
  refused({"compare", "a.json"}, "b is required");
}

TEST_CASE("help names units and defaults and goes to standard output", "[cli]") {
  const Finished top = run_stepcast({"--help"});
  CHECK(top.exit_code == 0);
  CHECK(top.err == "");
  for (const char* command : {"simulate", "sweep", "stragglers", "fit-stragglers", "check", "list",
                              "compare", "validate"}) {
    INFO(command);
    CHECK(top.out.find(command) != std::string::npos);
    const Finished help = run_stepcast({command, "--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.out.find("--json") != std::string::npos);
  }
  CHECK(top.out.find("memory in GiB") != std::string::npos);
  CHECK(run_stepcast({"simulate", "--help"}).out.find("simgrid") != std::string::npos);
}

TEST_CASE("no arguments print the help and are no success", "[cli]") {
  CHECK(run_stepcast({}).exit_code == 2);
}

TEST_CASE("the version is that of the project", "[cli]") {
  CHECK(run_stepcast({"--version"}).out == std::string(STEPCAST_PROJECT_VERSION) + "\n");
}

TEST_CASE("every kind of list has entries that say something", "[cli]") {
  for (const char* kind :
       {"models", "clusters", "profiles", "strategies", "jobs", "schedules", "collectives",
        "algorithms", "compressors", "engines", "storage", "formats", "contents", "shuffles"}) {
    INFO(kind);
    const Finished run = run_stepcast({"list", kind, "--json"});
    REQUIRE(run.exit_code == 0);
    const Json list = Json::parse(run.out);
    CHECK(list["entries"].size() >= 3);
    for (const Json& entry : list["entries"]) {
      INFO(entry["name"]);
      CHECK(entry["says"].get<std::string>().size() > 5);
    }
  }
}

TEST_CASE("the lists name everything that a scenario may say", "[cli]") {
  const auto names_all = [](const char* kind, const std::vector<std::string>& texts) {
    INFO(kind);
    const Json list = Json::parse(run_stepcast({"list", kind, "--json"}).out);
    std::vector<std::string> listed;
    for (const Json& entry : list["entries"]) listed.push_back(entry["name"]);
    CHECK_THAT(listed, Catch::UnorderedEquals(texts));
  };
  names_all("compressors", stepcast::enum_texts<stepcast::CompressionScheme>());
  names_all("algorithms", stepcast::enum_texts<stepcast::Algorithm>());
  names_all("schedules", stepcast::enum_texts<stepcast::ScheduleKind>());
  names_all("formats", stepcast::enum_texts<stepcast::DataFormat>());
  names_all("contents", stepcast::enum_texts<stepcast::DataContent>());
  names_all("shuffles", stepcast::enum_texts<stepcast::Shuffle>());
}

TEST_CASE("check answers in JSON with every problem and exit code 2", "[cli]") {
  const Folder folder;
  const std::string path = folder.write(
      "two.json",
      R"({"model": {"preset": "gpt5"}, "cluster": {"preset": "dgx-h100-ib400", "nodes": -1}})");
  const Finished run = run_stepcast({"check", path, "--json"});
  CHECK(run.exit_code == 2);
  const Json found = Json::parse(run.out);
  CHECK(found["good"] == false);
  REQUIRE(found["problems"].size() == 2);
  CHECK(found["problems"][0]["place"] == "/model/preset");
  CHECK(found["problems"][1]["place"] == "/cluster/nodes");
}

TEST_CASE("every bundled job is a good scenario", "[cli]") {
  const Json jobs = Json::parse(run_stepcast({"list", "jobs", "--json"}).out);
  for (const Json& job : jobs["entries"]) {
    const Finished run = run_stepcast({"check", job["name"].get<std::string>()});
    INFO(job["name"] << ": " << run.err);
    CHECK(run.exit_code == 0);
  }
}
