#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "sim/io/json.hpp"
#include "tests/support/test.hpp"

namespace stepcast::test {
namespace {
namespace fs = std::filesystem;
struct Folder {
  fs::path path = fs::temp_directory_path() / ("calibrate_cli_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};
pid_t start(const std::vector<std::string>& arguments, const std::string& log,
            const char* binary = STEPCAST_CALIBRATE_BINARY) {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  if (freopen((log + ".out").c_str(), "w", stdout) == nullptr ||
      freopen((log + ".err").c_str(), "w", stderr) == nullptr)
    _exit(98);
  std::vector<char*> pointers{const_cast<char*>(binary)};
  for (const std::string& a : arguments) pointers.push_back(const_cast<char*>(a.c_str()));
  pointers.push_back(nullptr);
  execv(binary, pointers.data());
  _exit(97);
}
int finished(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
std::string text_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}
std::vector<std::string> tasks_in(const std::string& journal) {
  std::vector<std::string> tasks;
  std::ifstream in(journal);
  for (std::string line; std::getline(in, line);)
    if (const Json json = Json::parse(line, nullptr, false);
        !json.is_discarded() && json.contains("task"))
      tasks.push_back(json["task"].get<std::string>());
  return tasks;
}
/// A step of some milliseconds.
const std::vector<std::string> kTiny{"--set", "/model/hidden=64",
                                     "--set", "/model/ffn=128",
                                     "--set", "/model/layers=2",
                                     "--set", "/model/vocab=128",
                                     "--set", "/model/heads=4",
                                     "--set", "/model/max_positions=32",
                                     "--set", "/training/sequence_length=32"};
std::vector<std::string> measure(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "measure");
  arguments.insert(arguments.end(), kTiny.begin(), kTiny.end());
  return arguments;
}
}  // namespace

TEST_CASE("probe says in words and in JSON what is here", "[calibrate][cli]") {
  const Folder folder;
  REQUIRE(finished(start({"probe"}, folder / "words")) == 0);
  REQUIRE_THAT(text_of(folder / "words.out"),
               Catch::Contains("backend cpu: usable") && Catch::Contains("backend cuda"));
  REQUIRE(finished(start({"probe", "--json"}, folder / "json")) == 0);
  const Json report = Json::parse(text_of(folder / "json.out"));
  REQUIRE(report.at(0).at("usable").get<bool>());
  REQUIRE(report.at(0).at("devices").at(0).at("memory_GiB").get<double>() > 0.1);
}
TEST_CASE("cuda without a driver is exit code 3 with three lines and no fallback",
          "[calibrate][cli]") {
  if (fs::exists("/proc/driver/nvidia/version")) {
    WARN("skipped: this machine has an NVIDIA driver");
    return;
  }
  const Folder folder;
  REQUIRE(finished(start(measure({"--backend", "cuda", "-o", folder / "p.profile.json"}),
                         folder / "log")) == 3);
  const std::string lines = text_of(folder / "log.err");
  REQUIRE(std::count(lines.begin(), lines.end(), '\n') == 3);
  REQUIRE_THAT(lines, Catch::Contains("--backend cpu"));
  REQUIRE_FALSE(fs::exists(folder / "p.profile.json"));
}
TEST_CASE("wrong names are exit code 2 with the nearest name", "[calibrate][cli]") {
  const Folder folder;
  REQUIRE(finished(start(measure({"--suite", "quik", "-o", folder / "p.profile.json"}),
                         folder / "log")) == 2);
  REQUIRE_THAT(text_of(folder / "log.err"), Catch::Contains("did you mean \"quick\"?"));
}
TEST_CASE("a model that cannot be measured by name is exit code 2 with the nearest",
          "[calibrate][cli]") {
  const Folder folder;
  REQUIRE(finished(start({"measure", "--model", "resnet5", "-o", folder / "p.profile.json"},
                         folder / "log")) == 2);
  REQUIRE_THAT(text_of(folder / "log.err"), Catch::Contains("did you mean \"resnet50\"?"));
}
TEST_CASE("real-time ranks that would take every core are refused before any starts",
          "[calibrate][cli]") {
  const Folder folder;
  const std::string ranks = std::to_string(std::max(2u, std::thread::hardware_concurrency()));
  REQUIRE(
      finished(start({"measure", "--realtime", "--ranks", ranks, "-o", folder / "p.profile.json"},
                     folder / "log")) == 2);
  REQUIRE_THAT(text_of(folder / "log.err"), Catch::Contains("--realtime") &&
                                                Catch::Contains(ranks + " ranks") &&
                                                Catch::Contains("leave --realtime out"));
  REQUIRE_FALSE(fs::exists(folder / "p.journal.jsonl"));
}
TEST_CASE("a recommender's step and its collectives are measured on two ranks",
          "[calibrate][cli]") {
  const Folder folder;
  REQUIRE(finished(start({"measure", "--suite", "step", "--ranks", "2", "--model", "dlrm", "--set",
                          "/model/rows_per_table=50", "-o", folder / "p.profile.json"},
                         folder / "log")) == 0);
  const Json measured = Json::parse(text_of(folder / "p.measured.json"));
  REQUIRE(measured.at("loss").get<double>() < 1);  // ln 2 = 0.69 at the start
  REQUIRE(measured.at("breakdown_s").at("exposed_ep").get<double>() > 0);  // its all-to-alls
}
TEST_CASE("a step with a compressor brings that compressor's costs into the profile",
          "[calibrate][cli]") {
  const Folder folder;
  REQUIRE(finished(start(measure({"--suite", "step", "--ranks", "2", "--set",
                                  "/compression/scheme=topk", "-o", folder / "p.profile.json"}),
                         folder / "log")) == 0);
  const Json measured = Json::parse(text_of(folder / "p.measured.json"));
  REQUIRE(measured.at("breakdown_s").at("compression").get<double>() > 0);
  const Json parameters =
      Json::parse(text_of(folder / "p.profile.json")).at("kernels").at("parameters");
  // A hundredth of the elements travels, each with an index of 4 bytes: 4 N / (8 N / 100).
  REQUIRE(parameters.at("compression_ratio_topk").get<double>() == Approx(50).epsilon(0.01));
  REQUIRE(parameters.at("encode_factor_topk").get<double>() > 0);
  REQUIRE(parameters.at("decode_factor_topk").get<double>() > 0);
}
TEST_CASE("a run killed with signal 9 goes on where it was and measures nothing twice",
          "[calibrate][cli]") {
  const Folder folder;
  const std::string profile = folder / "p.profile.json", journal = folder / "p.journal.jsonl";
  const auto arguments = measure({"--suite", "kernels", "--suite", "step", "-o", profile});
  const pid_t first = start(arguments, folder / "first");
  for (int i = 0; i < 600 && tasks_in(journal).size() < 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(first, SIGKILL);
  REQUIRE(finished(first) == 128 + SIGKILL);
  const std::vector<std::string> before = tasks_in(journal);
  REQUIRE(before.size() >= 5);
  REQUIRE(finished(start(arguments, folder / "second")) == 0);
  const std::vector<std::string> after = tasks_in(journal);
  REQUIRE(after.size() > before.size());
  REQUIRE(std::vector<std::string>(
              after.begin(), after.begin() + static_cast<std::ptrdiff_t>(before.size())) == before);
  REQUIRE(std::set<std::string>(after.begin(), after.end()).size() == after.size());
  REQUIRE_THAT(text_of(folder / "second.err"),
               Catch::Contains("resuming: " + std::to_string(before.size()) + " of"));
  REQUIRE(fs::exists(profile));
}
TEST_CASE("two ranks measure collectives and a step together", "[calibrate][cli]") {
  const Folder folder;
  REQUIRE(finished(start(measure({"--suite", "step", "--suite", "collectives", "--ranks", "2", "-o",
                                  folder / "p.profile.json"}),
                         folder / "log")) == 0);
  const Json measured = Json::parse(text_of(folder / "p.measured.json"));
  REQUIRE(measured.at("step_time_s").at("p50").get<double>() > 0);
  REQUIRE(measured.at("loss").get<double>() < 5);  // ln 128 = 4.85 at the start
  double parts = 0;
  for (const auto& [name, seconds] : measured.at("breakdown_s").items())
    parts += seconds.get<double>();
  // Medians of rank 0's parts against the slowest rank's step, whose parts they are. On a shared
  // machine a step of a few milliseconds also waits for a core before its first and after its last
  // op: a factor of 4 still tells a lost unit or a missing op stream.
  const double traced_s = measured.at("traced_step_time_s").get<double>();
  REQUIRE(parts > traced_s / 4);
  REQUIRE(parts < traced_s * 4);
  const Json profile = Json::parse(text_of(folder / "p.profile.json"));
  REQUIRE(profile.at("collectives").at("curves").size() == 6);
  // Each part by itself, which a sum within a factor cannot tell: this step has compute, an
  // optimizer and, on two ranks, a gradient that waits for its last bucket; it has no tensor
  // parallelism and no pipeline.
  const Json& breakdown = measured.at("breakdown_s");
  for (const char* present : {"compute", "optimizer", "exposed_dp"}) {
    INFO(present);
    REQUIRE(breakdown.at(present).get<double>() > 0);
  }
  for (const char* absent : {"exposed_tp", "exposed_pp"}) {
    INFO(absent);
    REQUIRE(breakdown.at(absent).get<double>() == 0);
  }
}
TEST_CASE("a journal of quick depth is not taken over by a full calibration", "[calibrate][cli]") {
  const Folder folder;
  REQUIRE(finished(start(measure({"--suite", "step", "-o", folder / "p.profile.json"}),
                         folder / "quick")) == 0);
  REQUIRE(finished(start(measure({"--suite", "full", "-o", folder / "p.profile.json"}),
                         folder / "full")) == 2);
  REQUIRE_THAT(text_of(folder / "full.err"), Catch::Contains("quick depth") &&
                                                 Catch::Contains("full depth") &&
                                                 Catch::Contains("choose another -o"));
}
#ifdef STEPCAST_BINARY
TEST_CASE("stepcast calibrate prints one JSON document with what was measured and what is forecast",
          "[calibrate][cli]") {
  const Folder folder;
  auto arguments = measure({"--suite", "step", "--json", "-o", folder / "p.profile.json"});
  arguments.front() = "calibrate";
  REQUIRE(finished(start(arguments, folder / "log", STEPCAST_BINARY)) == 0);
  const Json document =
      Json::parse(text_of(folder / "log.out"));  // refuses a second document behind the first
  REQUIRE(document.at("profile").get<std::string>() == folder / "p.profile.json");
  const Json& step = document.at("forecast").at("step");
  REQUIRE(step.at("measured_s") == document.at("measured").at("step_time_s").at("p50"));
  REQUIRE(step.at("predicted_s").get<double>() > 0);
}
#endif
TEST_CASE("one rank that is killed ends the run with exit code 3 and no hang", "[calibrate][cli]") {
  const Folder folder;
  const pid_t run =
      start(measure({"--suite", "collectives", "--ranks", "2", "-o", folder / "p.profile.json"}),
            folder / "log");
  for (int i = 0; i < 600 && tasks_in(folder / "p.journal.jsonl").size() < 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::ifstream children("/proc/" + std::to_string(run) + "/task/" + std::to_string(run) +
                         "/children");
  pid_t zero = 0, one = 0;
  REQUIRE((children >> zero >> one));
  kill(one, SIGKILL);
  REQUIRE(finished(run) == 3);
  REQUIRE_THAT(text_of(folder / "log.err"), Catch::Contains("rank 1"));
}
}  // namespace stepcast::test
