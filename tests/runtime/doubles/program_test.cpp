#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/io/json.hpp"
#include "tests/support/test.hpp"

/// The program that ships, with the plugin that ships, on the doubles: what an engineer types on a
/// GPU node, without the GPU. LD_LIBRARY_PATH and STEPCAST_PLUGINS come from ctest.
namespace stepcast::test {
namespace {
namespace fs = std::filesystem;
struct Answer {
  int exit_code;
  std::string out, err;
};
std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
struct Folder {
  fs::path path = fs::temp_directory_path() / ("stepcast_program_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  /// stepcast-calibrate with `arguments`, behind `variables` of its environment.
  Answer calibrate(const std::string& arguments, const std::string& variables = "") const {
    const std::string out = path / "out", err = path / "err";
    const int status = std::system((variables + " " + STEPCAST_CALIBRATE_BINARY + " " + arguments +
                                    " >" + out + " 2>" + err + " </dev/null")
                                       .c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
  }
};
}  // namespace

TEST_CASE("probe for cuda lists the devices and exits with 0", "[doubles]") {
  const Folder folder;
  const Answer answer = folder.calibrate("probe --backend cuda --json");
  INFO(answer.err);
  REQUIRE(answer.exit_code == 0);
  const Json report = Json::parse(answer.out).at(0);
  REQUIRE(report.at("usable").get<bool>());
  REQUIRE(report.at("devices").size() == 2);
  REQUIRE(report.at("devices").at(1).at("architecture") == "sm_90");
}

TEST_CASE("probe for cuda without a driver exits with 3 and three lines", "[doubles]") {
  const Folder folder;
  const Answer answer = folder.calibrate("probe --backend cuda", "STEPCAST_DOUBLE_DEVICES=0");
  REQUIRE(answer.exit_code == 3);
  REQUIRE(std::count(answer.err.begin(), answer.err.end(), '\n') == 3);
  REQUIRE_THAT(answer.err, Catch::StartsWith("backend cuda: no NVIDIA driver on this machine") &&
                               Catch::Contains("--backend cpu"));
  // Asked for nothing in particular, the same machine is described and nothing is wrong.
  REQUIRE(folder.calibrate("probe", "STEPCAST_DOUBLE_DEVICES=0").exit_code == 0);
}

TEST_CASE("two ranks on two devices measure a training step and write a profile", "[doubles]") {
  const Folder folder;
  const std::string profile = folder.path / "p.profile.json";
  const Answer answer = folder.calibrate(
      "measure --backend cuda --suite step --ranks 2 --time-limit 300 -o " + profile +
      " --set /model/hidden=32 --set /model/ffn=64 --set /model/layers=1 --set /model/vocab=64"
      " --set /model/heads=2 --set /model/max_positions=16 --set /training/sequence_length=16");
  INFO(answer.err);
  REQUIRE(answer.exit_code == 0);
  REQUIRE(text_of(profile).find("double of a GPU") != std::string::npos);
  const Json measured = Json::parse(text_of(folder.path / "p.measured.json"));
  REQUIRE(measured.at("step_time_s").at("p50").get<double>() > 0);
  // A uniform guess over 64 words costs log 64 = 4.16; steps of training lower it.
  REQUIRE(measured.at("loss").get<double>() < std::log(64.0) * 1.05);
  REQUIRE(measured.at("breakdown_s").size() > 1);
}
}  // namespace stepcast::test
