// What a hostile or unlucky user does: full disks, repeated axes, stale tables, files that explode.
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>

#include "sim/io/json.hpp"
#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;
using stepcast::Json;
namespace {
const std::string kOnPreset = R"({
  "include": "base.json",
  "cluster": { "preset": "mine", "nodes": 2 }
})";
const std::string kBase =
    R"({ "model": { "preset": "gpt3-125m" }, "training": { "global_batch": 32 }, "parallel": { "tp": 2 } })";

/// Sets an environment variable for its lifetime.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      had_ = true;
      old_ = old;
    }
    setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (had_)
      setenv(name_, old_.c_str(), 1);
    else
      unsetenv(name_);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};
}  // namespace

TEST_CASE("a full disk under standard output is an environment error and no fault of ours",
          "[cli]") {
  // /dev/full fails every write with ENOSPC.
  const Folder folder;
  const std::string command =
      std::string(STEPCAST_BINARY) + " simulate gpt3-175b-1024n --engine native";
  for (const char* flag : {" --json", ""}) {
    const int status = std::system(
        ("cd " + folder.path() + " && " + command + flag + " > /dev/full 2> err.txt").c_str());
    CHECK(WEXITSTATUS(status) == 3);
    CHECK(content_of(folder.path("err.txt")).find("please report") == std::string::npos);
  }
}

TEST_CASE("a pointer varied twice is refused", "[cli]") {
  const Folder folder;
  const Finished run = run_stepcast({"sweep", folder.write("small.json", kSmallScenario), "--vary",
                                     "/cluster/nodes=1", "--vary", "/cluster/nodes=2"},
                                    folder.path());
  CHECK(run.exit_code == 2);
  CHECK(run.err == "--vary /cluster/nodes: is varied twice; put all its values into one --vary\n");
}

TEST_CASE("a sweep is not resumed over a table whose include or preset has changed since",
          "[cli]") {
  const Folder folder;
  for (const char* kind : {"models", "clusters", "strategies", "profiles"})
    mkdir(folder.path(kind).c_str(), 0755);
  const std::string source = STEPCAST_SCENARIOS_FOLDER;
  folder.write("models/gpt3-125m.json", content_of(source + "/models/gpt3-125m.json"));
  folder.write("strategies/megatron.json", content_of(source + "/strategies/megatron.json"));
  folder.write("profiles/h100-sxm5-80g.profile.json",
               content_of(source + "/profiles/h100-sxm5-80g.profile.json"));
  folder.write("clusters/other.json", content_of(source + "/clusters/dgx-h100-ib400.json"));
  const std::string cluster = content_of(source + "/clusters/dgx-h100-ib400.json");
  folder.write("clusters/mine.json", cluster);
  folder.write("base.json", kBase);
  folder.write("s.json", kOnPreset);
  const Environment scenarios("STEPCAST_SCENARIOS", folder.path());
  const std::vector<std::string> sweep{"sweep",    "s.json", "--vary", "/run/seed=1,2",
                                       "--engine", "native", "--json"};
  const auto simulated = [&] {
    const Finished run = run_stepcast(sweep, folder.path());
    return run.exit_code == 0 ? Json::parse(run.out)["simulated_now"].get<int>() : -run.exit_code;
  };
  CHECK(simulated() == 2);
  CHECK(simulated() == 0);
  folder.write("clusters/other.json", "{}");  // a preset that the scenario does not use
  CHECK(simulated() == 0);
  folder.write(
      "base.json",
      R"({ "model": { "preset": "gpt3-125m" }, "training": { "global_batch": 64 }, "parallel": { "tp": 2 } })");
  CHECK(simulated() == -2);
  folder.write("base.json", kBase);
  CHECK(simulated() == 0);
  std::string slower = cluster;
  slower.replace(slower.find("\"nic_Gbps\": 400"), 15, "\"nic_Gbps\": 100");
  folder.write("clusters/mine.json", slower);
  CHECK(simulated() == -2);
}

TEST_CASE("files that include two others each at every level are refused within seconds", "[cli]") {
  // 2^30 readings without a limit
  const Folder folder;
  for (int i = 0; i < 30; ++i) {
    const std::string next = "\"d" + std::to_string(i + 1) + ".json\"";
    folder.write("d" + std::to_string(i) + ".json", "{\"include\": [" + next + ", " + next + "]}");
  }
  folder.write("d30.json", kSmallScenario);
  const Finished run = run_stepcast({"check", "d0.json"}, folder.path(), 20);
  CHECK_FALSE(run.timed_out);
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("more than 1024 files are included") != std::string::npos);
}

TEST_CASE("a number beyond double is named with its line", "[cli]") {
  const Folder folder;
  const Finished run = run_stepcast(
      {"check", folder.write("s.json", "{\n \"training\": { \"micro_batch\": 1e999 }\n}")});
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("s.json line 2 column 31: 1e999 is beyond any number here") !=
        std::string::npos);
}

TEST_CASE("bounds in messages have all their digits and a huge key does not flood the terminal",
          "[cli]") {
  const Folder folder;
  const std::string small = folder.write("small.json", kSmallScenario);
  CHECK(run_stepcast({"check", small, "--set", "/cluster/nodes=1e9"}).err ==
        "--set /cluster/nodes: 1000000000 is outside 1 to 1048576\n");
  const Finished run = run_stepcast(
      {"check", folder.write("key.json", "{\"" + std::string(1 << 20, 'k') + "\": 1}")});
  CHECK(run.exit_code == 2);
  CHECK(run.err.size() < 2000);
}

TEST_CASE("STEPCAST_SCENARIOS that names no folder of presets is said and not an empty list",
          "[cli]") {
  const Folder folder;
  const Environment scenarios("STEPCAST_SCENARIOS", folder.path("nowhere"));
  const Finished run = run_stepcast({"list", "models"});
  CHECK(run.exit_code == 3);
  CHECK(run.out == "");
  CHECK(run.err.find("STEPCAST_SCENARIOS names " + folder.path("nowhere") +
                     ", which holds no folder models") != std::string::npos);
}

TEST_CASE("a profile of another GPU is said to stand in", "[cli]") {
  const Folder folder;
  const Finished run = run_stepcast({"simulate", folder.write("small.json", kSmallScenario),
                                     "--engine", "native", "--json", "--profile", "a100-sxm4-80g"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("profile a100-sxm4-80g is of a100-sxm4-80g: its utilisation stands in for "
                     "that of h100-sxm5-80g") != std::string::npos);
}

TEST_CASE("a folder that cannot be made is named with the system's reason", "[cli]") {
  const Folder folder;
  folder.write("file", "");
  const Finished run = run_stepcast({"simulate", folder.write("small.json", kSmallScenario),
                                     "--engine", "native", "-o", folder.path("file/out")});
  CHECK(run.exit_code == 3);
  CHECK(run.err ==
        "stepcast: " + folder.path("file/out") + ": cannot be created: Not a directory\n");
}

TEST_CASE("bash completion offers the binary's own commands and flags and names", "[cli]") {
  const Folder folder;
  const std::string script =
      folder.write("try.sh", "stepcast() { '" + std::string(STEPCAST_BINARY) +
                                 "' \"$@\"; }\n"
                                 "source '" STEPCAST_COMPLETION
                                 "'\n"
                                 "offer() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
                                 "COMPREPLY=(); _stepcast; echo \"${COMPREPLY[*]}\"; }\n"
                                 "offer stepcast sw\noffer stepcast simulate gpt3-175b-1\noffer "
                                 "stepcast simulate x --engine nat\n"
                                 "offer stepcast list sched\noffer stepcast sweep x "
                                 "--chart-\noffer stepcast '' | tr ' ' '\\n' | grep -c .\n");
  REQUIRE(std::system(
              ("cd " + folder.path() + " && bash " + script + " > out.txt 2> err.txt").c_str()) ==
          0);
  INFO(content_of(folder.path("err.txt")));
  const auto lines = lines_of(content_of(folder.path("out.txt")));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "sweep");
  CHECK(lines[1] == "gpt3-175b-1024n");
  CHECK(lines[2] == "native");
  CHECK(lines[3] == "schedules");
  CHECK(lines[4] == "--chart-y");
  CHECK(std::stoi(lines[5]) >= 8);  // six commands and two flags at the least
}

TEST_CASE("a sweep whose table cannot grow says why", "[cli]") {
  // A limit of 4 blocks of 1 KiB lets the first lines through, takes a part of one and then fails
  // with EFBIG; a full disk does the same with ENOSPC.
  const Folder folder;
  const std::string command =
      "cd " + folder.path() + " && trap '' XFSZ && ulimit -f 4 && " + STEPCAST_BINARY + " sweep " +
      folder.write("small.json", kSmallScenario) +
      " --engine analytic -j 1 --vary /run/seed=1..40 -o grid.csv > out.txt 2> err.txt";
  const int status = std::system(("bash -c \"" + command + "\"").c_str());
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(content_of(folder.path("err.txt")).find("grid.csv: cannot be written: File too large") !=
        std::string::npos);
}
